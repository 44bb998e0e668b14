"""What was found in a run, in sentences."""

import numpy as np
import pytest

from haarbor.analysis import organize_run
from haarbor.cli._organize_summary import organize_summary, summary_lines
from haarbor.store import import_arrays


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Two batches of five heads, the second with the heads in reverse order."""
    rng = np.random.default_rng(1)
    X = np.exp(rng.standard_normal((10, 10, 5)) * np.linspace(0.1, 2, 5))
    X /= X.sum(1, keepdims=True)
    axes = ("batch", "query", "key", "head")
    run = import_arrays(np.stack([X, X[:, :, ::-1]]), tmp_path_factory.mktemp("run") / "r", axes=axes)
    return run, organize_summary(run, organize_run(run))


def test_a_ranking_that_turns_round_is_not_called_an_agreement(found):
    run, summary = found
    assert summary["mean_kendall_tau"] == pytest.approx(-1)
    text = "\n".join(summary_lines(run, summary))
    assert "The ranking does not agree between batches (Kendall tau -1.00)" in text
    assert "agrees" not in text


def test_an_agreement_is_told_with_its_overlap(found):
    run, summary = found
    text = "\n".join(summary_lines(run, {**summary, "mean_kendall_tau": 0.5}))
    assert "The ranking agrees between batches with Kendall tau 0.50; the top 10 % overlap by" in text


def test_heads_are_told_apart_from_one_percent_on(found):
    run, summary = found
    lines = summary_lines(run, {**summary, "heads_told_apart": False})
    assert lines[1].startswith("The heads cannot be told apart: their Haar entropies all lie between ")
    assert "Most alike" not in "\n".join(lines)
