from pathlib import Path

import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import head_scores
from haarbor.diagnostics import (
    attention_diagnostics,
    heads_table,
    kept_diagnostics,
    mean_figures,
    run_diagnostics,
    run_types,
)
from haarbor.errors import DataError, StoreError
from haarbor.store import import_arrays, open_run
from tests.analysis.damage import OF_ANY
from tests.capturing.small_models import IDS, gpt2

AXES = ("batch", "query", "key", "head")


def imported(place, contents):
    tensors = {
        content: np.stack(
            [hb.datasets.synthetic_network(12, 2, 3, batch=b, content=content).tensor for b in range(2)]
        )
        for content in contents
    }
    return import_arrays(tensors, place, axes=AXES, heads_per_layer=3, mask="causal")


@pytest.fixture
def run(tmp_path):
    return imported(tmp_path / "run.zarr", ("probabilities", "logits"))


def test_every_batch_gets_what_its_attention_says(run):
    assert kept_diagnostics(run) == ()
    assert run_types(run) == ()
    steps = []
    found = run_diagnostics(run, on_progress=lambda *step: steps.append(step))
    assert steps == [("head diagnostics", 1, 2), ("head diagnostics", 2, 2)]
    for batch, one in enumerate(found):
        plain = attention_diagnostics(np.asarray(run.tensor(batch, "probabilities")), run.mask(batch))
        for name, values in plain.figures.items():
            np.testing.assert_allclose(one.figures[name], values, rtol=1e-6, err_msg=name)
    again = kept_diagnostics(open_run(run.location))
    np.testing.assert_array_equal(again[1].figures["near"], found[1].figures["near"])
    assert len(run_types(run)) == 6


def test_what_is_kept_is_not_made_again_and_what_is_damaged_is(run, monkeypatch):
    run_diagnostics(run)
    from haarbor.diagnostics import _run_diagnostics as module

    made = []
    real = module._of_batch
    monkeypatch.setattr(module, "_of_batch", lambda part, batch: made.append(batch) or real(part, batch))
    run_diagnostics(run)
    assert made == []
    run.part("probabilities").save_result({"no": 1}, "head-diagnostics", batch=1)
    run_diagnostics(run)
    assert made == [1]


def test_logits_alone_serve_by_their_softmax(run, tmp_path):
    alone = imported(tmp_path / "logits.zarr", ("logits",))
    for both, one in zip(run_diagnostics(run), run_diagnostics(alone), strict=True):
        for name, values in both.figures.items():
            np.testing.assert_allclose(one.figures[name], values, rtol=2e-3, atol=1e-5, err_msg=name)


def test_scores_and_table_hold_the_diagnostics(run):
    hb.organize_run(run, options={"n_iterations": 1})
    before = {score.name for score in head_scores(run)}
    found = run_diagnostics(run)
    scores = {score.name: score for score in head_scores(run)}
    assert before < scores.keys()
    # There is no next token under a causal mask, and no text.
    assert {"next-token", "same-token"}.isdisjoint(scores)
    means = mean_figures(found)
    np.testing.assert_allclose(scores["previous-token"].values, means["previous_token"])
    np.testing.assert_allclose(
        {s.name: s for s in head_scores(run, batch=1)}["confidence"].values, found[1].figures["confidence"]
    )
    table = heads_table(run)
    assert len(table.rows) == 6
    kinds = run_types(run)
    place = table.columns.index("previous-token")
    for row, kind, value in zip(table.rows, kinds, means["previous_token"], strict=True):
        assert row[2:5] == (kind.name, kind.figure, kind.value)
        assert row[place] == value


def test_an_empty_run_and_one_without_attention_are_refused(tmp_path):
    X = np.zeros((1, 4, 4, 2))
    X[0, 0, 0, 1] = 0.2
    X[0, 1, 2, 0] = 3.0
    run = import_arrays({"probabilities": X}, tmp_path / "run.zarr", axes=AXES)
    with pytest.raises(DataError, match="a query that gives 3 in all"):
        run_diagnostics(run)
    with pytest.raises(DataError, match="scores of its heads"):
        heads_table(run)


def test_damage_is_told_where_results_are_only_read(run):
    run_diagnostics(run)
    for place in Path(run.location).rglob("head-diagnostics*"):
        OF_ANY["description cut"](next(path.parent for path in place.rglob("zarr.json")))
    with pytest.raises(StoreError):
        kept_diagnostics(open_run(run.location))
    assert len(run_diagnostics(open_run(run.location))) == 2
    assert len(kept_diagnostics(open_run(run.location))) == 2


def test_means_over_blocks_of_tokens_are_refused(tmp_path):
    run = hb.capture(gpt2(), [IDS[:2]], tmp_path / "run.zarr", pool=4)
    with pytest.raises(DataError, match=r"the run holds means over blocks of 4 x 4 tokens"):
        run_diagnostics(run)
