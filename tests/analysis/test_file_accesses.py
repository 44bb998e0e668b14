"""Work on a run touches its files a number of times that grows with the batches, not with their square."""

import os

import pytest

from haarbor.analysis import organize_run, run_invariance, run_regularity
from haarbor.paper import paper_results
from haarbor.report import report_html
from haarbor.store import open_run
from tests.analysis.file_accesses import file_accesses
from tests.analysis.logit_runs import logit_run

SIZES = (2, 4, 8)
WORK = {
    "organising": lambda run: organize_run(run),
    "organising again": lambda run: organize_run(run),
    "figures": lambda run: paper_results(run, control_seeds=0),
    "invariance": lambda run: (run_invariance(run, 1), run_regularity(run, 1)),
    "report": lambda run: report_html(run),
}


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """How often files were touched: by kind of work, then by the number of batches."""
    found = {what: {} for what in WORK}
    with pytest.MonkeyPatch.context() as patch:
        # What is counted is the same, and the disk need not be waited for.
        patch.setattr(os, "fsync", lambda _file: None)
        for n_batches in SIZES:
            place = tmp_path_factory.mktemp("run") / "run"
            logit_run(place, n_batches=n_batches)
            for what, work in WORK.items():
                with file_accesses(place) as touched:
                    work(open_run(place))
                found[what][n_batches] = sum(touched.values())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("what", WORK)
def test_accesses_grow_with_the_batches_and_no_faster(what, counts):
    few, some, many = (counts[what][n_batches] for n_batches in SIZES)
    assert few > 10
    # Twice the batches again take twice the difference; a square would take four times.
    assert many - some <= 2.1 * (some - few), counts[what]
