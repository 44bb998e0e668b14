"""One content and one stream of a run, with one rule for what is meant where none is asked for."""

import numpy as np
import pytest

from haarbor.errors import SettingError
from haarbor.store import open_run
from tests.store.builders import tiny_plan, write_run


@pytest.fixture
def both(tmp_path):
    return open_run(write_run(tmp_path / "both.zarr", tiny_plan(contents=("logits", "probabilities"))))


def test_probabilities_are_meant_where_the_run_holds_them(both, tmp_path):
    part = both.part()
    assert (part.content, part.stream) == ("probabilities", both.streams[0])
    only = open_run(write_run(tmp_path / "only.zarr", tiny_plan(contents=("logits",))))
    assert only.part().content == "logits"


def test_a_part_reads_what_the_run_reads_when_told_the_same(both):
    part = both.part("logits")
    np.testing.assert_array_equal(part.tensor(1), both.tensor(1, "logits"))
    np.testing.assert_array_equal(part.mask(1), both.mask(1))
    assert part.labels(1) == both.labels(1)
    assert part.token_kinds(1) == both.token_kinds(1) == ((), ())
    assert part.sizes == both.plan.streams[0]
    assert part.batches == both.batches


def test_results_of_one_part_are_not_those_of_the_other(both):
    logits, probabilities = both.part("logits"), both.part("probabilities")
    logits.save_result(np.arange(3.0), "score", batch=0)
    assert logits.has_result("score", batch=0)
    assert not probabilities.has_result("score", batch=0)
    assert probabilities.kept_result("score", batch=0).state == "absent"
    np.testing.assert_array_equal(both.load_result("score", batch=0, content="logits"), np.arange(3.0))
    np.testing.assert_array_equal(logits.load_result("score", batch=0), np.arange(3.0))
    logits.delete_result("score", batch=0)
    assert not logits.has_result("score", batch=0)


def test_results_without_a_content_are_those_of_the_usual_part(both):
    both.save_result(np.arange(2.0), "score")
    assert both.part("probabilities").has_result("score")
    assert not both.part("logits").has_result("score")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"content": "scores"}, "content must be one that the run holds, logits or probabilities; found 'sc"),
        ({"content": 3}, "content must be one that the run holds, logits or probabilities; found 3"),
        ({"stream": "cross"}, "stream must be one of decoder; found 'cross'"),
    ],
)
def test_what_the_run_does_not_hold_is_refused(both, asked, found):
    with pytest.raises(SettingError, match=found):
        both.part(**asked)
