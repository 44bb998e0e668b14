import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import builder_results, organize_run


@pytest.fixture
def run(tmp_path):
    for batch in range(2):
        np.save(tmp_path / f"{batch}.npy", hb.datasets.synthetic_attention(12, 2, 3, batch=batch))
    files = [tmp_path / f"{batch}.npy" for batch in range(2)]
    return hb.import_arrays(files, tmp_path / "run.zarr", heads_per_layer=3)


def trees_of(run, batch=0):
    return run.load_result("organization", batch=batch).trees


def test_results_of_two_builders_live_side_by_side(run):
    flexible = organize_run(run)
    before = trees_of(run)
    haar = organize_run(run, options={"tree": "haar"})
    assert (flexible.tree, haar.tree) == ("flexible", "haar")
    assert run.load_result("organization", batch=1).settings.tree == "haar"
    found = builder_results(run.part(), 0)
    assert list(found) == ["flexible", "haar"]
    question, values = found["flexible"]
    assert question.options["tree"] == "flexible"
    assert dict(values["organization"].trees) == dict(before)
    assert dict(found["haar"][1]["organization"].trees) == dict(trees_of(run))
    assert haar.consensus.tree == run.load_result("consensus").tree


@pytest.mark.slow
def test_what_was_put_aside_is_taken_back(run):
    first = organize_run(run)
    organize_run(run, options={"tree": "haar"})
    again = organize_run(run)
    assert again.n_reused == 2
    assert run.load_result("organization", batch=0).settings.tree == "flexible"
    np.testing.assert_array_equal(again.consensus.distances, first.consensus.distances)
    for one, other in zip(first.head_entropies, again.head_entropies, strict=True):
        np.testing.assert_array_equal(one.raw, other.raw)
    assert list(builder_results(run.part(), 0)) == ["flexible", "haar"]
    # Other options of the same builder replace its results.
    changed = organize_run(run, options={"n_iterations": 1})
    assert changed.n_reused == 0
    assert builder_results(run.part(), 0)["flexible"][0].options["n_iterations"] == 1
    # What was put aside does not answer another question.
    other = organize_run(run, options={"tree": "haar", "restraint": 0.1})
    assert other.n_reused == 0
    assert run.load_result("organization", batch=0).settings.restraint == 0.1


def test_given_trees_are_not_for_a_run(run):
    with pytest.raises(hb.SettingError, match="start must be 'auto', 'order' or 'affinity' for a run"):
        organize_run(run, options={"start": trees_of})
