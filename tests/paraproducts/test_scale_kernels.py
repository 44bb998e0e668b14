import numpy as np

from haarbor.paraproducts._scale_kernels import add_down, add_up

# A root with the children 1 and 2; folder 3 is a child of folder 1.
PARENTS = np.array([-1, 0, 0, 1])


def test_sums_up_and_down_by_hand():
    values = np.array([0.0, 0.0, 5.0, 7.0]).reshape(1, 4, 1)
    add_up(values, PARENTS)
    assert values.ravel().tolist() == [12, 7, 5, 7]
    values = np.array([1.0, 10.0, 20.0, 100.0]).reshape(1, 4, 1)
    add_down(values, PARENTS)
    assert values.ravel().tolist() == [1, 11, 21, 111]


def test_other_axes_are_kept_apart(rng):
    values = rng.normal(size=(2, 4, 3))
    for kernel in (add_up, add_down):
        whole = values.copy()
        kernel(whole, PARENTS)
        for before in range(2):
            for after in range(3):
                part = values[before, :, after].copy().reshape(1, 4, 1)
                kernel(part, PARENTS)
                np.testing.assert_array_equal(whole[before, :, after], part.ravel())
