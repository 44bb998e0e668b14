import numpy as np

from haarbor.collapse import keep_collapse, keep_paths
from haarbor.report.sections._collapse_section import collapse_section
from tests.collapse.made_up import made_bound, made_collapse, made_paths
from tests.compare.networks import attention, written


def test_it_holds_residuals_bound_and_paths(tmp_path):
    run = written(tmp_path / "run", [attention(0)])
    assert collapse_section(run.part()) is None
    keep_paths(run, made_paths(2))
    assert collapse_section(run.part())["weights"] == []
    results = {"trained": made_collapse(2), "at initialisation": made_collapse(2)}
    bounds = {"trained": made_bound(2), "at initialisation": made_bound(2, reason="it is masked")}
    kept = keep_collapse(run, results, bounds=bounds, data="texts")
    found = collapse_section(run.part())
    assert found["verdict"] == list(kept.verdict())
    trained, initial = found["weights"]
    for place, variant in enumerate(trained["variants"]):
        np.testing.assert_array_equal(
            trained["figures"]["composite"][place], results["trained"].middle("composite", variant)
        )
    np.testing.assert_array_equal(trained["log10_bound"], bounds["trained"].relative(results["trained"]))
    assert initial["log10_bound"] is None
    assert initial["bound"].endswith("it is masked.")
    assert list(found["paths"]["shares"]) == ["tokens", "MLPs"]
