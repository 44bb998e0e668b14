import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import head_scores
from haarbor.diagnostics import (
    HAAR_SCORES,
    ModelDiagnostics,
    keep_model_diagnostics,
    kept_model_diagnostics,
    partial_rank_correlation,
    run_diagnostics,
    run_types,
    score_relations,
)
from haarbor.errors import DataError
from tests.report.runs import text_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return text_run(
        tmp_path_factory.mktemp("relations") / "run.zarr", n_batches=1, n_tokens=12, n_layers=3, heads=3
    )


def ranks(values):
    return np.array([sum(other < value for other in values) for value in values], dtype=float)


def test_correlations_are_those_of_ranks_and_of_what_is_left_of_them(run):
    with pytest.raises(DataError, match="must hold head diagnostics"):
        score_relations(run)
    run_diagnostics(run)
    found = score_relations(run)
    assert found.haar == HAAR_SCORES
    assert "attention-entropy" in found.diagnostics
    scores = {score.name: np.asarray(score.values) for score in head_scores(run)}
    one, two, held = (ranks(scores[name]) for name in ("entropy", "first-token", "attention-entropy"))
    place = found.diagnostics.index("first-token")
    np.testing.assert_allclose(found.correlations[0, place], np.corrcoef(one, two)[0, 1])
    # The partial correlation is that of the residuals of two lines.
    left = [values - np.polyval(np.polyfit(held, values, 1), held) for values in (one, two)]
    np.testing.assert_allclose(found.beyond[0, place], np.corrcoef(*left)[0, 1], atol=1e-9)
    np.testing.assert_allclose(found.explained["entropy"], np.corrcoef(one, held)[0, 1] ** 2)
    table = found.table()
    assert table.rows[place][0] == "first-token"
    assert table.rows[place][1] == found.correlations[0, place]


def test_what_follows_from_the_third_has_no_partial_correlation():
    x = np.arange(5.0)
    assert np.isnan(partial_rank_correlation(x, x[::-1] ** 2, 2 * x))
    assert np.isnan(partial_rank_correlation(x, np.ones(5), np.array([1.0, 3, 2, 5, 4])))


def model_diagnostics(n_heads):
    nothing = np.full(n_heads, np.nan)
    names = (
        "previous_repeated", "relative_output", "qk_effective_rank", "qk_positive", "ov_effective_rank",
        "ov_positive",
    )  # fmt: skip
    repeated = {"induction": np.linspace(0, 0.9, n_heads), "duplicate_token": np.zeros(n_heads)}
    return ModelDiagnostics(
        figures={**dict.fromkeys(names, nothing), **repeated},
        composition={},
        states={},
        layers=np.repeat(np.arange(n_heads // 3), 3),
        period=4,
        seed=0,
    )


def test_what_was_measured_on_the_network_names_types_and_is_a_score(run):
    run_diagnostics(run)
    assert kept_model_diagnostics(run) is None
    keep_model_diagnostics(run, model_diagnostics(9), weights="sha256:any")
    assert kept_model_diagnostics(hb.open_run(run.location)).period == 4
    assert run_types(run)[-1].name == "induction"
    assert run_types(run)[0].name != "induction"
    scores = {score.name: score for score in head_scores(run)}
    np.testing.assert_allclose(scores["induction"].values, np.linspace(0, 0.9, 9))
    assert "ov-positive" not in scores
    assert "induction" not in {score.name for score in head_scores(run, batch=0)}


def test_a_run_of_another_network_is_refused(run, monkeypatch):
    with pytest.raises(DataError, match="it has 9 heads, and the model has 6"):
        keep_model_diagnostics(run, model_diagnostics(6))
    plan = type(run.plan)
    recorded = {**run.plan.settings, "weights": "sha256:one"}
    monkeypatch.setattr(plan, "settings", property(lambda _: recorded), raising=False)
    with pytest.raises(DataError, match="its weights are sha256:one, and those of the model are sha256:two"):
        keep_model_diagnostics(run, model_diagnostics(9), weights="sha256:two")
