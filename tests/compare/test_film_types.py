import numpy as np

from haarbor.compare._film_types import film_types, told_types, type_counts
from haarbor.diagnostics import ModelDiagnostics, keep_model_diagnostics
from tests.compare.networks import attention, written


def measured(induction):
    return ModelDiagnostics(
        figures={"induction": np.full(8, induction), "duplicate_token": np.zeros(8)},
        composition={},
        states={},
        layers=np.repeat([0, 1], 4),
        period=4,
        seed=0,
    )


def test_repeated_tokens_count_where_every_run_was_measured(tmp_path):
    runs = [written(tmp_path / str(seed), [attention(0, seed=seed)], words="w") for seed in range(2)]
    parts = [run.part() for run in runs]
    before = film_types(parts)
    assert not any("induction" in one for one in before)
    keep_model_diagnostics(runs[1], measured(0.9))
    assert film_types(parts) == before
    keep_model_diagnostics(runs[0], measured(0.1))
    after = film_types(parts)
    assert after[0] == before[0]
    assert after[1] == ("induction",) * 8


def test_means_over_blocks_of_tokens_have_no_types(tmp_path, monkeypatch):
    from haarbor.compare import _film_types
    from haarbor.errors import DataError

    def refused(_part):
        raise DataError("blocks")

    monkeypatch.setattr(_film_types, "run_diagnostics", refused)
    assert film_types(["one", "two"]) == ()


def test_the_sentence_names_types_in_the_order_in_which_they_appear():
    types = (("broad", "broad"), ("broad", "diagonal"), ("previous token", "broad"))
    told = told_types(types, np.array([0.0, 5.0, 50.0]))
    assert told == (
        "Types of the 2 heads, when they are first seen: diagonal at step 5 (none at the end), "
        "previous token at step 50 (1 at the end)."
    )
    assert told_types((("broad",), ("mixed",)), np.array([0.0, 1.0])) == ""
    assert list(type_counts(types)) == ["previous token", "diagonal", "broad"]
