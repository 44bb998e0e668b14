import numpy as np
import pytest
from scipy.optimize import minimize

from haarbor.wavelets._coefficient_decay import coefficient_decay, huber_fit
from tests.reference.haar import haar_functions
from tests.samples import CHAINED, HALVES, tree_of_kind


def test_differences_and_sizes_are_those_of_functions_written_out(rng):
    f = rng.normal(size=(5, 4))
    decay = coefficient_decay(f, CHAINED, HALVES)
    rows, columns = haar_functions(CHAINED.levels), haar_functions(HALVES.levels)
    for i, row in enumerate(rows[1:]):
        for j, column in enumerate(columns[1:]):
            difference = 0.0
            for a, sign_a in ((1, 1), (-1, -1)):
                for b, sign_b in ((1, 1), (-1, -1)):
                    part = f[np.sign(row.values) == a][:, np.sign(column.values) == b]
                    difference += sign_a * sign_b * part.mean()
            assert np.exp(decay.log_differences[i, j]) == pytest.approx(abs(difference), rel=1e-10)
        assert np.exp(decay.log_row_sizes[i]) == pytest.approx(len(row.folder) / 5)


@pytest.mark.parametrize("separate", [False, True])
def test_the_fit_minimises_hubers_loss(separate, rng):
    trees = [tree_of_kind("unequal", n, rng) for n in (24, 30)]
    decay = coefficient_decay(rng.standard_t(3, size=(24, 30)), *trees)
    fit = huber_fit(decay, separate=separate)

    def loss(beta):
        slopes = beta[1:] if separate else (beta[1], beta[1])
        left = np.abs(
            decay.log_differences
            - beta[0]
            - slopes[0] * decay.log_row_sizes[:, None]
            - slopes[1] * decay.log_column_sizes
        )
        return np.where(left <= fit.cut, left**2 / 2, fit.cut * (left - fit.cut / 2)).sum()

    best = minimize(loss, np.zeros(2 + separate), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose([fit.intercept, *fit.slopes], best.x, atol=1e-4)
