"""The section of head types: filter, list and links."""

import pytest

from haarbor.diagnostics import run_diagnostics, run_types
from haarbor.report import write_report
from tests.browser.looking import state, wait_until
from tests.report.runs import text_run


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_types_are_filtered_listed_and_open_their_heads(opened, tmp_path, width, scheme):
    run = text_run(tmp_path / "run.zarr")
    run_diagnostics(run)
    kinds = [kind.name for kind in run_types(run)]
    write_report([run], tmp_path / "page.html")
    page = opened(tmp_path / "page.html", width=width, scheme=scheme, charts=True)
    section = page.locator("#diagnostics-section")
    assert section.locator("tbody tr").count() == len(kinds)
    assert section.locator(".chart svg.main-svg").count() >= 1
    name = kinds[0]
    section.locator(f"button[data-value='{name}']").click()
    assert section.locator("tbody tr").count() == kinds.count(name)
    assert set(section.locator("tbody td:nth-child(2)").all_inner_texts()) == {name}
    chip = section.locator("tbody .chip").last
    head = int(chip.get_attribute("data-head"))
    chip.click()
    wait_until(page, lambda: state(page, "chosen") == head)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
