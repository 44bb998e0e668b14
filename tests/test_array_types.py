import numpy as np
import pytest
import scipy.sparse

import haarbor as hb
from haarbor.array_types import frozen, plain_array, real_array


class Unreadable:
    ndim = 2

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("the device\nis gone")


class Refusing:
    def __array__(self, dtype=None, copy=None):
        raise hb.StoreError("batch 3 is damaged; capture it again.")


class Frame:
    """What a table of numbers in another library looks like to numpy."""

    def __array__(self, dtype=None, copy=None):
        return np.array([[1.0, 2.0], [3.0, 4.0]])


def endless():
    deepest = []
    deepest.append(deepest)
    return deepest


def test_frozen_returns_the_same_array_with_writing_off():
    array = np.zeros(3)
    assert frozen(array) is array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0


def test_an_array_is_taken_as_it_is():
    array = np.ones((2, 3))
    assert plain_array(array) is array
    assert real_array(array) is array


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ((1.5, 2), [1.5, 2]),
        ([np.float32(1), 2], [1, 2]),
        ([[True, False]], [[True, False]]),
        (Frame(), [[1, 2], [3, 4]]),
        (np.ma.array([1.0, 2.0]), [1, 2]),
        (np.ma.array([1.0, 2.0], mask=[False, False]), [1, 2]),
        ([np.ma.array([1.0, 2.0]), [3.0, 4.0]], [[1, 2], [3, 4]]),
        (range(3), [0, 1, 2]),
    ],
)
def test_what_holds_numbers_becomes_an_array(given, values):
    assert real_array(given).tolist() == values


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ma.array([1.0, 2.0], mask=[False, True]), "hides 1 of 2 entries. Pass X.filled.* mask=~X.mask"),
        ([np.ma.array([1.0, 2.0], mask=[False, True])] * 2, "found a masked one that hides 1 of 2"),
        ([[1.0, np.ma.masked]], "found a masked one that hides 1 of 1"),
        (np.ones(2, complex), "found dtype complex128. Pass its real part, X.real"),
        (np.array([1.0, None]), "found dtype object. Convert it"),
        ([10**30, 1], "found dtype object"),
        (["1", "2"], "found dtype <U1"),
        (np.zeros(2, "M8[s]"), r"found dtype datetime64\[s\]"),
        (np.zeros(2, [("a", float)]), "found dtype"),
        ((x for x in [1.0]), "found an object of type generator. Pass a numpy array or nested lists"),
        (None, "found None"),
        ({"a": 1}, "found an object of type dict"),
        ([[1.0], [1.0, 2.0]], "must be a rectangular array; .* inhomogeneous"),
        (endless(), "nested more than 64 deep"),
        (Unreadable(), r"\(RuntimeError: the device is gone\). Convert it to a numpy array first"),
        (scipy.sparse.csr_matrix(np.eye(2)), r"found a sparse one, csr_matrix. Pass X.toarray\(\)"),
    ],
)
def test_what_would_be_lost_or_holds_no_numbers_is_refused(given, message):
    with pytest.raises(hb.ShapeError, match=message) as caught:
        real_array(given)
    assert "\n" not in str(caught.value)


def test_what_a_store_says_is_passed_on():
    with pytest.raises(hb.StoreError, match="batch 3 is damaged"):
        plain_array(Refusing())


def torch_tensors():
    torch = pytest.importorskip("torch")
    X = torch.arange(4.0).reshape(2, 2)
    return {
        "plain": X,
        "half": X.half(),
        "double": X.double(),
        "integer": X.int(),
        "bfloat16": X.bfloat16(),
        "gradient": X.clone().requires_grad_(),
        "parameter": torch.nn.Parameter(X.bfloat16()),
        "sparse": X.to_sparse(),
        "meta": X.to("meta"),
        "list": list(X),
        "list of bfloat16": list(X.bfloat16()),
    }


@pytest.mark.parametrize("kind", ["plain", "half", "double", "integer", "list"])
def test_torch_tensors_that_numpy_reads_are_taken(kind):
    assert real_array(torch_tensors()[kind]).tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("bfloat16", r"torch tensor \(bfloat16, on cpu\). Pass X.detach\(\).float\(\).cpu\(\).numpy\(\)\."),
        ("gradient", r"\(float32, on cpu, with a gradient\). Pass X.detach\(\).cpu\(\).numpy\(\)\."),
        (
            "parameter",
            r"\(bfloat16, on cpu, with a gradient\). Pass X.detach\(\).float\(\).cpu\(\).numpy\(\)\.",
        ),
        ("sparse", r"\(float32, on cpu, sparse\). Pass X.to_dense\(\).detach\(\).cpu\(\).numpy\(\)\."),
        ("meta", "on the meta device, which has a shape and no values. Load the weights"),
        ("list of bfloat16", r"Pass X.detach\(\).float\(\).cpu\(\).numpy\(\)\."),
    ],
)
def test_torch_tensors_that_numpy_cannot_read_are_refused_with_the_call_to_make(kind, message):
    with pytest.raises(hb.ShapeError, match=message):
        real_array(torch_tensors()[kind])


@pytest.mark.parametrize("kind", ["bfloat16", "gradient", "parameter", "sparse"])
def test_the_call_to_make_works(kind):
    X = torch_tensors()[kind]
    with pytest.raises(hb.ShapeError) as caught:
        hb.organize(X)
    call = str(caught.value).partition("Pass ")[2].rstrip(".")
    assert real_array(eval(call, {"X": X})).tolist() == [[0, 1], [2, 3]]
