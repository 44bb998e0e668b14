import numpy as np
import pytest

from haarbor.analysis import asked_part, checked_batch
from haarbor.errors import SettingError
from tests.analysis.logit_runs import logit_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("run") / "run"
    return logit_run(place, contents=("probabilities", "logits"), n_batches=7)


def test_a_part_is_taken_as_it_is_unless_another_is_asked_for(run):
    logits = run.part("logits")
    assert asked_part(logits) is logits
    assert asked_part(run).content == "probabilities"
    assert asked_part(logits, "probabilities").content == "probabilities"
    assert asked_part(logits, stream="self").content == "probabilities", "a stream alone asks for a new part"


def test_a_batch_is_one_that_is_complete(run):
    assert checked_batch(run, np.int64(6)) == 6
    for wrong in (7, -1, True, None, "0", 1.0):
        with pytest.raises(SettingError, match=r"a complete one, 0, 1, 2, \.\.\. 6; found .*\. Choose one"):
            checked_batch(run, wrong)
