import numpy as np

from haarbor.report.sections._stability_section import stability_section
from tests.report.runs import text_run


def test_it_holds_how_far_the_batches_agree(text):
    found = stability_section(text.part())
    stability, consensus = text.load_result("ranking-stability"), text.load_result("consensus")
    assert found["means"][0] == stability.mean_kendall_tau
    assert found["set_size"] == stability.set_size
    np.testing.assert_array_equal(found["top_counts"], stability.top_counts)
    np.testing.assert_array_equal(found["tree_distance"], consensus.tree_distance)


def test_a_run_of_one_batch_has_none(tmp_path):
    run = text_run(tmp_path / "one.zarr", n_batches=1, n_tokens=8, n_layers=1)
    assert stability_section(run.part()) is None
