import sys

import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import RunRegularity, run_regularity
from haarbor.questionnaire import neutral_tensor
from haarbor.trees import halved_tree
from tests.analysis.logit_runs import N_HEADS, N_TOKENS, logit_run, network


def test_the_gain_is_over_the_order_of_the_text_and_the_repr_tells_the_medians():
    exponents = {
        name: np.array([0.4, 0.6, np.nan])
        for name in RunRegularity.__dataclass_fields__
        if name.startswith(("organised", "natural", "shuffled"))
    }
    found = RunRegularity(
        **{**exponents, "natural": np.array([0.1, 0.2, np.nan]), "shuffled": np.array([-0.5, -0.3, np.nan])},
        layers=np.array([0, 0, 1]),
        batch=2,
        stream="attention",
        settings="ours",
        seed=0,
    )
    np.testing.assert_allclose(found.gain, [0.3, 0.4, np.nan])
    assert repr(found) == (
        "RunRegularity(3 heads, batch 2, median exponent 0.500 organised, 0.150 in the order of the text, "
        "-0.400 shuffled)"
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A run with its exponents for seed 1, which the tests only read."""
    run = logit_run(tmp_path_factory.mktemp("measured") / "run")
    return run, run_regularity(run, seed=1)


def test_exponents_are_those_of_filled_logits_on_both_kinds_of_trees(measured):
    run, found = measured
    trees = run.load_result("head-trees", batch=0, content="logits")
    made = network()
    filled, _ = neutral_tensor(made.tensor.astype(np.float32), ("query", "key", "head"), made.mask, "logits")
    plain = halved_tree(N_TOKENS)
    for head in range(2 * N_HEADS):
        alone = hb.holder_exponent(filled[:, :, head], *trees.trees(head), seed=1)
        assert found.organised[head] == alone.alpha
        assert found.organised_error[head] == alone.alpha_error
        assert found.shuffled[head] == alone.shuffled_alpha
        assert found.natural[head] == hb.holder_exponent(filled[:, :, head], plain, plain, seed=1).alpha
    np.testing.assert_array_equal(found.gain, found.organised - found.natural)
    kept = run.load_result("holder-exponents", batch=0, content="logits")
    np.testing.assert_array_equal(kept.organised, found.organised)


def test_exponents_are_not_made_again(measured, monkeypatch):
    run, found = measured

    def never(*_, **__):
        raise AssertionError("made again")

    monkeypatch.setattr(sys.modules["haarbor.analysis._run_regularity"], "holder_exponent", never)
    np.testing.assert_array_equal(run_regularity(run, seed=1).organised, found.organised)
    with pytest.raises(AssertionError, match="made again"):
        run_regularity(run, seed=2)


def test_a_head_without_mixed_differences_has_no_exponent(tmp_path):
    found = run_regularity(logit_run(tmp_path / "run", flat_head=4))
    assert np.isnan(found.organised[4])
    assert np.isfinite(np.delete(found.organised, 4)).all()
