import numpy as np
import pytest

import haarbor as hb
from haarbor.report import report_html
from haarbor.report.sections._networks_section import networks_section
from tests.compare.networks import attention, written
from tests.report.runs import HOSTILE


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    one, two = (
        written(folder / str(seed), [attention(batch, seed=seed) for batch in range(2)], words="w")
        for seed in range(2)
    )
    return one, hb.compare_runs([one, two], n_permutations=9, names=["one", HOSTILE])


def test_it_holds_matched_heads_and_layers(compared):
    run, kept = compared
    found = networks_section(run.part())
    (pair,) = found["pairs"]
    (expected,) = kept.pairs
    assert pair["verdict"][0].startswith("one and ")
    assert pair["heads"][0][:2] == ["0.0", "0.1"]
    np.testing.assert_allclose(pair["matched"], expected.matched / expected.chance)
    np.testing.assert_allclose(pair["layers"]["cka"], expected.cka)
    np.testing.assert_allclose(pair["layers"]["distance"], expected.layer_distances())
    np.testing.assert_array_equal(pair["entropies"][1], expected.entropies[1][expected.pairs[:, 1]])
    assert pair["is_own"]


def test_names_stay_text_in_the_page(compared):
    assert HOSTILE not in report_html(compared[0], n_batches=1)


def test_a_run_that_was_not_compared_has_none(text):
    assert networks_section(text.part()) is None
