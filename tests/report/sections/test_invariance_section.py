import numpy as np

from haarbor.analysis import run_invariance
from haarbor.report.sections._invariance_section import invariance_section
from haarbor.store import open_run
from tests.analysis.logit_runs import logit_run


def test_it_holds_what_was_measured_of_every_head(tmp_path):
    logit_run(tmp_path / "run", contents=("probabilities", "logits"), flat_head=0)
    run = open_run(tmp_path / "run")
    kept, _ = run_invariance(run)
    found = invariance_section(run.part())
    assert found["batch"] == 0
    np.testing.assert_array_equal(found["figures"]["invariance"], kept.figures["invariance"])
    known = kept.figures["exact"][np.isfinite(kept.figures["exact"])]
    assert known.size < kept.figures["exact"].size
    assert found["medians"]["organised"][0] == np.median(known)
    assert found["correlations"].keys() == kept.correlations().keys()


def test_a_run_that_was_not_measured_has_none(text):
    assert invariance_section(text.part()) is None
