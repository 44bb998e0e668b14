"""The section of pruning: curves, the heads that go, the table."""

import pytest

from haarbor.analysis import keep_pruning
from haarbor.report import write_report
from tests.analysis.pruning_results import HEALED, pruning_results
from tests.browser.looking import wait_until
from tests.report.runs import text_run

CROSSES = """section => {
  const chart = section.querySelector('[id$="pruned-heads"] .js-plotly-plot');
  return chart.data[0].marker.symbol.map((symbol, place) => symbol === "x" ? place : -1).filter(i => i >= 0);
}"""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_curves_table_and_grid_show_the_study(opened, tmp_path, width, scheme):
    run = text_run(tmp_path / "run.zarr", n_batches=1)
    study = pruning_results(healing=HEALED)
    keep_pruning(run, study)
    write_report([run], tmp_path / "page.html")
    page = opened(tmp_path / "page.html", width=width, scheme=scheme, charts=True)
    section = page.locator("#pruning-section")
    assert section.locator(".lead").inner_text() == " ".join(study.sentences)
    assert section.locator("tbody tr").count() == 5  # four scores, and the healed one in a row of its own
    cells = section.locator("tbody tr").nth(4).locator("td").all_inner_texts()
    assert [bool(cell) for cell in cells] == [False, False, True, False, False]
    assert "3.05" in cells[2]
    assert section.locator(".errorbars path.yerror").count() >= 16
    removed = [head for head in range(12) if study.removed["leftover"][head]]
    wait_until(page, lambda: section.evaluate(CROSSES) == removed)
    section.locator("button[data-value='gradient']").click()
    removed = [head for head in range(12) if study.removed["gradient"][head]]
    wait_until(page, lambda: section.evaluate(CROSSES) == removed)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
