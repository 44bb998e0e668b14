import numpy as np
import pytest

from haarbor.analysis import measured, run_regularity
from haarbor.analysis._softmax_scores import regularity_scores, softmax_scores
from tests.analysis.logit_runs import logit_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two batches with logits, of which the second has Hölder exponents, on a flat head as well."""
    run = logit_run(tmp_path_factory.mktemp("run") / "run", flat_head=4, n_batches=2)
    run_regularity(run, 1)
    return run


def test_scores_are_of_the_batches_that_were_measured(run):
    part = run.part()
    found = run.load_result("holder-exponents", batch=1, content="logits")
    for batch in (None, 1):
        exponent, gain = regularity_scores(part, batch)
        assert (exponent.name, gain.name) == ("holder-exponent", "holder-gain")
        np.testing.assert_array_equal(exponent.values, found.organised)
        np.testing.assert_array_equal(gain.values, found.organised - found.natural)
        assert np.isnan(exponent.values[4])
    assert regularity_scores(part, 0) == []
    assert softmax_scores(part, None) == []
    assert [batch for batch, _ in measured(part, "holder-exponents")] == [1]


def test_a_run_without_logits_has_nothing_measured(tmp_path):
    part = logit_run(tmp_path / "run", contents=("probabilities",)).part()
    assert list(measured(part, "holder-exponents")) == []
