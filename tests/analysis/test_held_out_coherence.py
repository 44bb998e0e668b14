from dataclasses import replace

import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import METHODS, HeldOutCoherence, held_out_coherence
from haarbor.trees import halved_tree
from tests.reference.haar import haar_coefficients, haar_functions

AXES = ("query", "key", "head")


def slow_l1(X, trees):
    functions = {place: haar_functions(trees[axis].levels.tolist()) for place, axis in enumerate(AXES)}
    return float(np.abs(haar_coefficients(X, functions)).sum())


def order_trees(shape):
    return {axis: halved_tree(n) for axis, n in zip(AXES, shape, strict=True)}


def test_figures_are_those_written_out(rng):
    batches = [rng.random((4, 5, 4)), rng.random((3, 4, 4))]
    found = held_out_coherence(batches, {"n_iterations": 1}, n_splits=2, seed=9)
    assert found.heads.shape == (2, 4)
    for place, X in enumerate(batches):
        chance = np.random.default_rng([9, place])
        for split in range(2):
            order = chance.permutation(4)
            halves = [X[:, :, np.sort(part)] for part in (order[:2], order[2:])]
            for way, (seen, held_out) in enumerate((halves, halves[::-1])):
                trees = hb.organize(seen, n_iterations=1).trees
                plain = order_trees(held_out.shape)
                mixed = {**plain, "query": trees["query"], "key": trees["key"]}
                assert found.heads[place, 2 * split + way] == pytest.approx(
                    slow_l1(held_out, plain) / slow_l1(held_out, mixed), rel=1e-12
                )
        trees = hb.organize(X, n_iterations=1).trees
        plain = order_trees(X.shape)
        assert found.in_sample[place] == pytest.approx(slow_l1(X, plain) / slow_l1(X, trees), rel=1e-12)
        for axis in AXES:
            assert found.depth[axis][place] == trees[axis].relative_depth
    head_tree = hb.organize(batches[0], n_iterations=1).trees["head"]
    plain = order_trees(batches[1].shape)
    expected = slow_l1(batches[1], plain) / slow_l1(batches[1], {**plain, "head": head_tree})
    assert found.batches.tolist() == pytest.approx([expected], rel=1e-12)


def test_a_value_by_hand():
    # Queries are alike in twos, 0 with 2 and 1 with 3, in both heads; keys and heads are constant.
    X = np.broadcast_to(np.array([1.0, 3.0, 1.0, 3.0])[:, None, None], (4, 1, 2)).copy()
    found = held_out_coherence([X], "haar")
    # One head: on the order tree 4 (constant) and two differences of 2 sqrt(1/2); on the tree found 4
    # and one difference of 2.
    assert found.heads.tolist() == [pytest.approx([(4 + 2 * 2 * 0.5**0.5) / (4 + 2)] * 2)]
    assert found.mean_heads == pytest.approx((4 + 8**0.5) / 6)
    assert found.batches.size == 0
    assert np.isnan(found.mean_batches)
    assert np.isnan(found.error_batches)


def test_means_errors_and_leads_by_hand():
    one = HeldOutCoherence(
        method="a", heads=np.array([[1.0, 3.0], [3.0, 5.0]]), batches=np.array([1.0, 2.0, 3.0]),
        in_sample=np.ones(2), depth={}, seed=0,
    )  # fmt: skip
    assert one.mean_heads == 3.0
    assert one.error_heads == pytest.approx(np.std([2, 4], ddof=1) / 2**0.5)
    assert (one.mean_batches, one.error_batches) == (2.0, pytest.approx(1 / 3**0.5))
    other = replace(one, heads=np.array([[0.0, 1.0], [1.0, 2.0]]))
    assert one.lead_over(other) == (pytest.approx(2.0), pytest.approx(0.5))
    other = replace(other, batches=np.array([1.0, 1.0, 1.0]))
    assert one.lead_over(other, "batches") == (pytest.approx(1.0), pytest.approx(1 / 3**0.5))
    with pytest.raises(hb.SettingError, match="of must be one of 'heads', 'batches'; found 'luck'"):
        one.lead_over(other, "luck")
    assert repr(one) == "HeldOutCoherence(a; heads 3.000 ± 1.000, batches 2.000 ± 0.577)"
    with pytest.raises(hb.SettingError, match="same batches and splits"):
        one.lead_over(replace(other, seed=1))
    with pytest.raises(hb.SettingError, match="same batches and splits"):
        one.lead_over(replace(other, heads=np.ones((1, 2))))


def test_trees_of_noise_fit_in_sample_and_nowhere_else(rng):
    noise = [rng.normal(size=(24, 24, 8)) for _ in range(3)]
    found = held_out_coherence(noise, {"tree": "haar", "restraint": 0.0})
    assert found.in_sample.min() > 1.015
    assert abs(found.mean_heads - 1) < 0.01
    assert abs(found.mean_batches - 1) < 0.01


def test_structure_that_heads_share_is_found_by_every_method():
    # Queries and keys shuffled, so that the order knows nothing.
    rng = np.random.default_rng(3)
    X = hb.datasets.synthetic_attention(32, 2, 4, causal=False)
    X = X[rng.permutation(32)][:, rng.permutation(32)]
    found = {method: held_out_coherence([X], method) for method in METHODS}
    assert found.pop("order").heads.tolist() == [[1.0, 1.0]]
    assert all(one.mean_heads > 1.1 for one in found.values())


def test_a_function_of_ones_own():
    def as_they_stand(X):
        return order_trees(X.shape)

    X = hb.datasets.synthetic_attention(8, 1, 4)
    found = held_out_coherence([X], as_they_stand)
    assert found.method == "as_they_stand"
    assert found.heads.tolist() == [[1.0, 1.0]]
    with pytest.raises(hb.SettingError, match="a tree for 'query', 'key' and 'head'; found"):
        held_out_coherence([X], lambda _: {"query": halved_tree(8)})
    with pytest.raises(hb.ShapeError, match="must have 8 items"):
        held_out_coherence([X], lambda X: {axis: halved_tree(3) for axis in AXES})


def test_a_run_is_read_batch_by_batch(tmp_path):
    batches = [hb.datasets.synthetic_attention(8, 1, 4, batch=b).astype(np.float32) for b in range(2)]
    for batch, X in enumerate(batches):
        np.save(tmp_path / f"{batch}.npy", X)
    run = hb.import_arrays([tmp_path / f"{b}.npy" for b in range(2)], tmp_path / "run.zarr")
    told = []
    found = held_out_coherence(run, "haar", on_progress=lambda *step: told.append(step))
    stored = [np.asarray(run.tensor(b)) for b in range(2)]
    np.testing.assert_array_equal(found.heads, held_out_coherence(stored, "haar").heads)
    assert told == [("held-out coherence", 1, 2), ("held-out coherence", 2, 2)]
    run.save_result(found, "held-out-haar")
    again = run.load_result("held-out-haar")
    assert again.method == "haar"
    np.testing.assert_array_equal(again.batches, found.batches)


def test_what_cannot_be_measured_is_refused(rng):
    X = rng.random((4, 4, 3))
    with pytest.raises(hb.SettingError, match="method must be one of flexible, binary, haar, average, ward"):
        held_out_coherence([X], "oak")
    with pytest.raises(hb.SettingError, match="tensors must be a run, or a list of one tensor per batch"):
        held_out_coherence(X)
    with pytest.raises(hb.DataError, match="at least one batch"):
        held_out_coherence([])
    with pytest.raises(hb.DataError, match="at least two heads"):
        held_out_coherence([X[:, :, :1]])
    with pytest.raises(hb.DataError, match="the same heads; found 3 and 2"):
        held_out_coherence([X, X[:, :, :2]])
    with pytest.raises(hb.DataError, match="not zero"):
        held_out_coherence([np.zeros_like(X)], "order")
    for wrong in (0, None, 1.5):
        with pytest.raises(hb.SettingError, match="n_splits must be a whole number from 1"):
            held_out_coherence([X], n_splits=wrong)
