"""Every head of a batch organised by itself, for what is measured head by head."""

import pytest

from haarbor.analysis import head_trees, run_invariance, run_regularity
from haarbor.analysis._organized_heads import organized_heads
from haarbor.errors import SettingError
from tests.analysis.logit_runs import logit_run, network


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that the tests only read."""
    return logit_run(tmp_path_factory.mktemp("run") / "run")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream": "cross"}, "stream must be one of self; found 'cross'"),
        ({"stream": 3}, "stream must be one of self; found 3"),
        ({"batch": 7}, "batch must be a complete one, 0; found 7"),
        ({"batch": None}, "batch must be a complete one, 0; found None"),
        ({"batch": "0"}, "batch must be a complete one, 0; found '0'"),
        ({"settings": 3}, "settings must be 'ours' or 'paper'; found 3"),
        ({"seed": -1}, "seed must be a whole number from 0; found -1"),
        ({"seed": "x"}, "seed must be a whole number from 0; found 'x'"),
        ({"on_progress": 3}, "on_progress must be a function; found 3"),
    ],
)
@pytest.mark.parametrize("work", [run_invariance, run_regularity])
def test_what_is_not_in_the_run_or_of_another_kind_is_refused(work, options, message, run):
    with pytest.raises(SettingError, match=message):
        work(run, **options)
    with pytest.raises(SettingError, match=r"run must be a Run; found None\. Open it"):
        work(None)
    assert run.results() == ()


def test_a_run_without_logits_is_told_how_to_get_them(tmp_path):
    with pytest.raises(SettingError, match=r"it holds probabilities\. Capture it again with .* --logits"):
        run_invariance(logit_run(tmp_path / "run", contents=("probabilities",)))


def test_trees_are_those_of_the_valid_logits_and_are_kept(tmp_path):
    run = logit_run(tmp_path / "run", padding=3)
    told = []
    found = organized_heads(run, settings="paper", on_progress=lambda *step: told.append(step))
    made = network()
    expected = head_trees(made.tensor.astype("float32"), mask=made.mask, settings="paper")
    kept = run.load_result("head-trees", batch=0, content="logits")
    for head in range(6):
        assert found.trees.trees(head) == expected.trees(head) == kept.trees(head)
    assert found.tokens.mask.shape == made.mask.shape
    assert told == [("organising heads", done, 6) for done in range(1, 7)]
    organized_heads(run, settings="paper", on_progress=lambda *step: told.append(step))
    assert told[6:] == [("organising heads", 6, 6)], "what was kept is not made again"
