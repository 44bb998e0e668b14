import json

import numpy as np

from haarbor.analysis import keep_pruning
from haarbor.report import report_html
from haarbor.report._packing import plain_numbers
from haarbor.report.sections._pruning_section import pruning_section
from tests.analysis.pruning_results import HEALED, pruning_results
from tests.report.runs import text_run


def test_it_holds_curves_heads_and_what_to_do(tmp_path):
    run = text_run(tmp_path / "run.zarr", n_batches=1, n_tokens=12)
    assert pruning_section(run.part()) is None
    given = pruning_results(healing=HEALED, model="</script><b>", sentences=("</script><b>x</b>",))
    keep_pruning(run, given)
    found = pruning_section(run.part())
    assert [score["name"] for score in found["scores"]] == ["leftover", "gradient", "h400", "random"]
    np.testing.assert_allclose(found["scores"][1]["values"], 3.0 + given.damages["gradient"])
    assert found["scores"][2]["removed"] == given.removed["h400"].tolist()
    assert found["scores"][3]["agreement"] is None
    assert (found["score"], found["place"], found["healing"]) == ("leftover", 2, HEALED)
    # NaN is no JSON.
    json.dumps(plain_numbers(found), allow_nan=False)
    assert "<b>x</b>" not in report_html(run)
