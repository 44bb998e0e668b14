"""Every public function against values that careless or hostile callers pass: an answer, or one clear line.

Warnings are errors in all tests, so numpy's are noticed here too.
"""

import warnings
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import haarbor as hb
from haarbor.notebook import matrix_picture
from haarbor.paraproducts import (
    paraproduct_forms,
    regularity_gain,
    row_softmax,
    telescoping,
    tensor_paraproduct,
)
from tests.samples import HALVES

TREES = {"query": HALVES, "key": HALVES}
RNG = np.random.default_rng(7)
# Symmetric and positive: a matrix, an affinity and distances all in one.
GOOD = (lambda A: A + A.T)(RNG.uniform(0.1, 1, size=(4, 4)))
ORGANISED = hb.organize(GOOD)
MASK = np.tri(4, dtype=bool)

TAKERS = {
    "organize": hb.organize,
    "organize gaussian binary": lambda X: hb.organize(X, initial="gaussian", tree="binary"),
    "organize masked": lambda X: hb.organize(X, mask=MASK, content="logits"),
    "tree_emd": lambda X: hb.tree_emd(X, {"key": HALVES}),
    "consensus": lambda X: hb.consensus([X, GOOD], [ORGANISED] * 2, axis="key").distances,
    "convergence": lambda X: ORGANISED.convergence(X).coherence,
    "cosine_affinity": hb.cosine_affinity,
    "gaussian_affinity": hb.gaussian_affinity,
    "distance_affinity": hb.distance_affinity,
    "markov_spectrum": hb.markov_spectrum,
    "diffusion_map": hb.diffusion_map,
    "build_tree": hb.build_tree,
    "binary_tree": hb.binary_tree,
    "haar_transform": lambda X: hb.haar_transform(X, TREES),
    "inverse_haar_transform": lambda X: hb.inverse_haar_transform(X, TREES),
    "haar_l1": lambda X: hb.haar_l1(X, TREES),
    "head_entropy": lambda X: hb.head_entropy(X, TREES),
    "network_entropy": lambda X: hb.network_entropy(X, TREES, p=1.5),
    "sorted_coefficients": lambda X: hb.sorted_coefficients(X, TREES),
    "ranking_stability": lambda X: hb.ranking_stability(X).top_jaccard,
    "holder_exponent": lambda X: hb.holder_exponent(X, HALVES, HALVES).constants,
    "paraproduct": lambda X: hb.paraproduct(X, HALVES, HALVES, "tanh").approximation,
    "paraproduct_forms": lambda X: paraproduct_forms(X, HALVES, HALVES, "softmax")["paper"].approximation,
    "tensor_paraproduct": lambda X: tensor_paraproduct(X, TREES, nonlinearity="cube").approximation,
    "telescoping": lambda X: telescoping(X, HALVES, HALVES),
    "regularity_gain": lambda X: regularity_gain(X, GOOD, HALVES, HALVES, 1.0).residual,
    "softmax_invariance": lambda X: hb.softmax_invariance(X, HALVES, HALVES, MASK),
    "row_softmax": row_softmax,
    "leaf_order": lambda X: HALVES.leaf_order(X[0] if isinstance(X, np.ndarray) and X.size else X),
    "matrix_picture": lambda X: matrix_picture(X, "a matrix"),
}

# What has no numbers, or would lose something by becoming an array of numbers.
LOSSY = {
    "complex": GOOD + 1j,
    "masked": np.ma.masked_greater(GOOD, 1.0),
    "text": GOOD.astype(str),
    "bytes": GOOD.astype("S8"),
    "objects": GOOD.astype(object),
    "dates": np.zeros((4, 4), "M8[D]"),
    "fields": np.zeros((4, 4), [("a", float), ("b", int)]),
    "ragged": [[1.0, 2.0], [3.0]],
    "generator": (row for row in GOOD),
    "None": None,
    "set": {1.0},
    "empty": np.zeros((0, 4)),
    "NaN": np.full((4, 4), np.nan),
    "infinite": np.full((4, 4), np.inf),
    "beyond float64": GOOD.astype(np.longdouble) * np.longdouble("1e4000"),
}
# NaN is a missing entry to a cosine, and no scores are an order by number.
EXCEPT = {("cosine_affinity", "NaN"), ("leaf_order", "None")}

SIGNS = np.where((np.arange(16) % 3 == 0).reshape(4, 4), -1.0, 1.0)
EXTREME = {
    **{f"2**{power}": np.ldexp(GOOD / 4, power) for power in (-1060, -1000, -520, 520, 1000, 1023)},
    **{f"2**{power} float32": np.ldexp((GOOD / 4).astype("f4"), power) for power in (-145, -120, 120, 127)},
    "largest": np.full((4, 4), np.finfo(np.float64).max),
    "largest of both signs": SIGNS * np.finfo(np.float64).max,
    "largest float32": (SIGNS * np.finfo(np.float32).max).astype(np.float32),
    "largest float16": (SIGNS * 65504).astype(np.float16),
    "smallest": np.full((4, 4), 5e-324),
    "smallest float32": np.full((4, 4), 1e-45, np.float32),
    "all sizes": np.maximum.outer(*[np.array([1e-320, 1e-200, 1.0, 1e300])] * 2),
    "all sizes and signs": SIGNS * np.minimum.outer(*[np.array([1e-320, 1e-200, 1.0, 1e300])] * 2),
    "zeros": np.zeros((4, 4)),
    "integers": np.full((4, 4), 2**63 - 1),
    "booleans": np.eye(4, dtype=bool),
}


def assert_one_clear_line(error):
    """What must hold; what was found. What to do."""
    text = str(error)
    assert "\n" not in text
    assert ";" in text
    assert len(text) < 500
    assert text.endswith((".", ")"))


def numbers_in(result):
    if isinstance(result, float | np.ndarray):
        yield np.asarray(result)
    elif is_dataclass(result):
        for field in fields(result):
            yield from numbers_in(getattr(result, field.name))
    elif isinstance(result, dict):
        for value in result.values():
            yield from numbers_in(value)


@pytest.mark.parametrize("taker", TAKERS)
def test_the_takers_take_a_good_matrix(taker):
    TAKERS[taker](GOOD)


@pytest.mark.parametrize("kind", LOSSY)
@pytest.mark.parametrize("taker", TAKERS)
def test_arrays_that_would_lose_something_are_refused(taker, kind):
    if (taker, kind) in EXCEPT:
        return
    with pytest.raises(hb.HaarborError) as caught:
        TAKERS[taker](LOSSY[kind])
    assert_one_clear_line(caught.value)


@pytest.mark.parametrize("kind", EXTREME)
@pytest.mark.parametrize("taker", TAKERS)
def test_numbers_at_the_ends_give_finite_results_or_are_refused(taker, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hb.AffinityWarning)
        try:
            result = TAKERS[taker](EXTREME[kind])
        except hb.HaarborError as error:
            assert_one_clear_line(error)
            return
    # A slope is NaN or infinite where nothing determines it.
    if taker != "regularity_gain":
        assert all(np.isfinite(array).all() for array in numbers_in(result) if array.dtype.kind == "f")


NO_NUMBER = [None, True, "x", "", b"x", [], {}, 1j, float("nan"), float("inf"), object(), HALVES, len]
NO_WHOLE = [*NO_NUMBER, 2.5, -1, -(10**30)]
NO_NAME = [None, True, 0, 2.5, "x", "", b"cosine", ["cosine"], {}, object(), np.array(["cosine", "x"])]
NO_TREE = [None, 5, "x", [[0, 0], [0, 1]], {}, HALVES.levels]
NO_TREES = [None, 5, "x", [HALVES], {"layer": HALVES}, {0: HALVES}, {"key": 5}, {"key": None}]
# An empty mapping gives no tree, and is none that is wrong.
NO_START = [*(v for v in NO_NAME if not isinstance(v, dict)), *NO_TREES]
NO_ENGINE = [None, 3, "tpu", object(), hb.CpuEngine, len, {}]
X = np.repeat(GOOD[:, :, None], 2, axis=2) + np.arange(2)
AXES = ("query", "key", "head")

OPTIONS = [
    (lambda v: hb.organize(X, n_iterations=v), [*(v for v in NO_WHOLE if v is not None), 0, 10**30]),
    (lambda v: hb.organize(X, tree="haar", restraint=v), [*NO_NUMBER, -1, 2]),
    (lambda v: hb.organize(X, tolerance=v), [*NO_NUMBER, -1, 2]),
    (lambda v: hb.organize(X, start=v), [*NO_START, "given"]),
    (lambda v: hb.organize(X, tree="haar", start=v), [*NO_START, "affinity", "given"]),
    (lambda v: hb.haar_tree(GOOD, restraint=v), [*NO_NUMBER, -1, 2]),
    (lambda v: hb.haar_tree(GOOD, engine=v), NO_ENGINE),
    (lambda v: hb.build_tree(GOOD, restraint=v), [*NO_NUMBER, -1, 2]),
    (lambda v: hb.organize(X, initial=v), NO_NAME),
    (lambda v: hb.organize(X, tree=v), NO_NAME),
    (lambda v: hb.organize(X, cut=v), NO_NAME),
    (lambda v: hb.organize(X, refine=v), NO_NAME),
    (lambda v: hb.organize(X, content=v), NO_NAME),
    (lambda v: hb.organize(X, tree_constant=v), [*NO_NUMBER, 0, -1.0]),
    (lambda v: hb.organize(X, alpha=v), [*NO_NUMBER, 1e308, {"query": 1}, dict.fromkeys(AXES, "x")]),
    (lambda v: hb.organize(X, beta=v), [*NO_NUMBER, -1e308, {"layer": 1}]),
    (lambda v: hb.organize(X, engine=v), NO_ENGINE),
    (lambda v: hb.organize(X, axes=v), [5, "qkh", set(AXES), [1, 2, 0], [None] * 3, "a" * 3, np.array("a")]),
    (lambda v: hb.organize(X, mask=v), ["x", 1, MASK.astype(int), MASK.astype(str), ~MASK & MASK, MASK[:3]]),
    (lambda v: hb.tree_emd(X, v), NO_TREES),
    (lambda v: hb.tree_emd(X, TREES, axes=v), [5, [1, 2, 0], ["query", "key", 3]]),
    (lambda v: hb.tree_emd(X, TREES, engine=v), NO_ENGINE),
    (lambda v: hb.cosine_affinity(X, v), [None, True, 2.5, 3, -4, "x", [0]]),
    (lambda v: hb.gaussian_affinity(X, axes=v), [5, [1, 2, 0], ["a", "b", None]]),
    (lambda v: hb.cosine_affinity(X, threads=v), [v for v in NO_WHOLE if v is not None] + [0, 10**9]),
    (lambda v: hb.CpuEngine(v), [v for v in NO_WHOLE if v is not None] + [0, 10**9]),
    (lambda v: hb.markov_spectrum(GOOD, v), [v for v in NO_WHOLE if v is not None] + [0, 5]),
    (lambda v: hb.diffusion_map(GOOD, v), [*NO_WHOLE, 0]),
    (lambda v: hb.diffusion_map(GOOD, time=v), [*NO_NUMBER, -1.0]),
    (lambda v: hb.diffusion_map(np.kron(np.eye(2), GOOD), time=v), [*NO_NUMBER, -1.0]),
    (lambda v: hb.flexible_tree(hb.markov_spectrum(GOOD), v), [*NO_NUMBER, 0]),
    (lambda v: hb.flexible_tree(v), [None, 5, GOOD]),
    (lambda v: hb.build_tree(GOOD, tree=v), NO_NAME),
    (lambda v: hb.build_tree(GOOD, tree="binary", tree_constant=v), [*NO_NUMBER, 0]),
    (lambda v: hb.binary_tree(GOOD, cut=v), NO_NAME),
    (lambda v: hb.haar_transform(X, v), [v for v in NO_TREES if v != {}]),
    (lambda v: hb.haar_l1(X, TREES, v), [5, [1, 2, 0], "qkh"]),
    (lambda v: hb.head_entropy(X, v), NO_TREES),
    (lambda v: hb.head_entropy(X, TREES, k=v), [*NO_WHOLE, 0]),
    (lambda v: hb.head_entropy(X, TREES, p=v), [*NO_NUMBER, 0, -1, 1e308]),
    (lambda v: hb.network_entropy(GOOD, TREES, k=v), [*NO_WHOLE, 0]),
    (lambda v: hb.sorted_coefficients(X, v), NO_TREES),
    (lambda v: hb.ranking_stability(GOOD, v), [*NO_NUMBER, 0, 1.5]),
    (lambda v: hb.holder_exponent(GOOD, v, HALVES), NO_TREE),
    (lambda v: hb.holder_exponent(GOOD, HALVES, HALVES, n_draws=v), [*NO_WHOLE, 1, 10**30]),
    (lambda v: hb.holder_exponent(GOOD, HALVES, HALVES, seed=v), NO_WHOLE),
    (lambda v: hb.paraproduct(GOOD, HALVES, v), NO_TREE),
    (lambda v: hb.paraproduct(GOOD, HALVES, HALVES, v), [*NO_NAME, (np.exp,), (np.sum,) * 3, (type,) * 3]),
    (lambda v: hb.paraproduct(GOOD, HALVES, HALVES, form=v), NO_NAME),
    (lambda v: hb.paraproduct(GOOD, HALVES, HALVES, mask=v), ["x", MASK.astype(int), MASK[:3], ~MASK & MASK]),
    (lambda v: hb.softmax_invariance(GOOD, HALVES, HALVES, seed=v), NO_WHOLE),
    (lambda v: hb.tree_distances(v), NO_TREE),
    (lambda v: hb.partition_distance(HALVES, v), NO_TREE),
    (lambda v: hb.haar_system(v), NO_TREE),
    (lambda v: hb.haar_basis(v), NO_TREE),
    (lambda v: HALVES.children(v), [*NO_WHOLE, 7]),
    (lambda v: HALVES.folders(v), [*NO_NUMBER, 2.5, 3]),
    (lambda v: HALVES.weights(v), [*NO_NUMBER, -900.0]),
    (lambda v: HALVES.permuted(v), [None, 5, "x", [0, 1, 2], [0, 0, 1, 2], [0.0, 1.0, 2.0, 3.0], [True] * 4]),
    (lambda v: HALVES.render(v), [5, "abcd", [1, 2, 3, 4], ["a"], np.array("a")]),
    (lambda v: HALVES.render(max_lines=v), [*NO_WHOLE, 0]),
    (lambda v: ORGANISED.order(v), NO_NAME),
    (lambda v: ORGANISED.iteration_trees(v), [*NO_WHOLE, 0, 99]),
    (lambda v: ORGANISED.embedding("key", v), [*NO_WHOLE, 0]),
    (lambda v: hb.consensus(v, [ORGANISED] * 2), [None, 5, [GOOD], [GOOD] * 3, [GOOD, None], np.array(1.0)]),
    (lambda v: hb.consensus([GOOD], v), [None, 5, [], [None], ORGANISED]),
    (lambda v: hb.consensus([GOOD], [ORGANISED], axis=v), NO_NAME),
    (lambda v: hb.datasets.synthetic_network(v), [*NO_WHOLE, 0, 10**30]),
    (lambda v: hb.datasets.synthetic_network(4, causal=v), ["False", 0, None]),
    (lambda v: hb.datasets.synthetic_network(4, seed=v), [*NO_WHOLE, 2**64]),
    (lambda v: hb.datasets.haar_series(HALVES, HALVES, v), [*NO_NUMBER, -1e6]),
    (lambda v: hb.datasets.haar_series(v, HALVES, 0.3), NO_TREE),
]  # fmt: skip


@pytest.mark.parametrize(("call", "values"), OPTIONS, ids=range(len(OPTIONS)))
def test_options_that_cannot_be_used_are_refused(call, values):
    for value in values:
        with pytest.raises(hb.HaarborError) as caught:
            call(value)
        assert_one_clear_line(caught.value)
