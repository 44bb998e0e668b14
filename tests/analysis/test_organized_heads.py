"""Every head of a batch organised by itself, for what is measured head by head."""

import pytest

from haarbor.analysis import run_invariance, run_regularity
from haarbor.errors import SettingError
from tests.analysis.logit_runs import logit_run


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
def test_what_is_not_in_the_run_or_of_another_kind_is_refused(work, options, message, tmp_path):
    run = logit_run(tmp_path / "run")
    with pytest.raises(SettingError, match=message):
        work(run, **options)
    with pytest.raises(SettingError, match=r"run must be a Run; found None\. Open it"):
        work(None)


def test_a_run_without_logits_is_told_how_to_get_them(tmp_path):
    with pytest.raises(SettingError, match=r"it holds probabilities\. Capture it again with .* --logits"):
        run_invariance(logit_run(tmp_path / "run", contents=("probabilities",)))
