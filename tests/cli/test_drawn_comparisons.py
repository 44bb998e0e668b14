import json

import pytest

import haarbor as hb
from haarbor.analysis import keep_pruning
from haarbor.cli._drawn_comparisons import drawn_comparisons
from haarbor.collapse import keep_collapse, keep_paths
from tests.analysis.pruning_results import pruning_results
from tests.cli.builders import answer
from tests.collapse.made_up import made_bound, made_collapse, made_paths
from tests.compare.networks import attention, written
from tests.report.runs import text_run


@pytest.mark.slow
def test_what_runs_keep_is_drawn_and_told(tmp_path):
    one, two = (
        written(tmp_path / name, [attention(0, seed=seed)], words="w", model=f"{name} {seed}")
        for seed, name in enumerate(("one", "two"))
    )
    assert drawn_comparisons([one.part()], tmp_path) == []
    found = hb.compare_runs([one, two], n_permutations=9)
    film = hb.training_film([one, two])
    keep_collapse(two, {"trained": made_collapse(2)}, bounds={"trained": made_bound(2)})
    keep_paths(two, made_paths(2))
    (tmp_path / "out").mkdir()
    files = drawn_comparisons([one.part(), two.part()], tmp_path / "out")
    names = ["comparison_1", "training_2", "collapse_2", "paths_2"]
    assert [path.name for path in files] == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    assert all(path.stat().st_size > 1000 for path in files)
    for run, sentence in ((one, found.verdict()[0]), (two, film.verdict()[0])):
        told = answer("info", run.location, "--json")
        assert sentence in told.out
        assert "compared" in answer("info", run.location).out
    assert "Residual of the tokens after 2 layers" in " ".join(told.out.split())
    assert "collapse" in answer("info", two.location).out


def test_a_pruning_study_is_drawn_and_told(tmp_path):
    run = text_run(tmp_path / "run.zarr", n_batches=1, n_tokens=12)
    keep_pruning(run, pruning_results())
    (tmp_path / "out").mkdir()
    files = drawn_comparisons([run.part()], tmp_path / "out")
    assert [path.name for path in files] == ["pruning.png", "pruning.svg"]
    told = json.loads(answer("info", run.location, "--json").out)
    assert told["pruned"] == ["Remove 4 of 12 heads (33.3 %) by 'leftover'."]
    assert "pruning" in told["results"]
    assert "Remove 4 of 12 heads" in answer("info", run.location).out
