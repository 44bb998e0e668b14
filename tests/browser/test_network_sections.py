"""The sections about the network as a whole: rank collapse, other networks, and its training."""

import pytest

import haarbor as hb
from haarbor.collapse import keep_collapse, keep_paths
from haarbor.diagnostics import run_diagnostics
from haarbor.report import write_report
from tests.browser.looking import wait_until
from tests.collapse.made_up import made_bound, made_collapse, made_paths
from tests.compare.networks import attention, written


def deep_run(folder):
    """A run that keeps a comparison, a film, rank collapse and paths."""
    runs = [
        written(
            folder / f"step-{step}",
            [attention(batch, seed=seed) for batch in range(2)],
            words="w",
            model=f"step-{step}",
        )
        for seed, step in enumerate((0, 10, 100))
    ]
    for run in runs:
        run_diagnostics(run)
    hb.training_film(runs)
    hb.compare_runs([runs[-1], runs[0]], n_permutations=9)
    keep_collapse(
        runs[-1],
        {"trained": made_collapse(2), "at initialisation": made_collapse(2)},
        bounds={"trained": made_bound(2), "at initialisation": made_bound(2, reason="it is masked")},
        data="two texts",
    )
    keep_paths(runs[-1], made_paths(2))
    return runs[-1]


@pytest.fixture(scope="module")
def deep_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    write_report(deep_run(folder), folder / "page.html", n_batches=1)
    return folder / "page.html"


def opacities(page, chart):
    return page.evaluate(
        f"document.querySelector('{chart} .chart').data.map((trace) => trace.marker.opacity)"
    )


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_sections_of_the_network_open_and_their_choices_work(opened, deep_page, width, scheme):
    page = opened(deep_page, width=width, scheme=scheme, charts=True)
    for name, n_charts in (("collapse", 3), ("networks", 2), ("training", 3)):
        assert page.locator(f"#{name}-section .chart svg.main-svg").count() >= n_charts

    training = page.locator("#training-section")
    names = page.evaluate("Haarbor.runs[0].data.sections.training.types.map((type) => type.name)")
    training.locator(f"button[data-value='{names[0]}']").click()
    wait_until(page, lambda: opacities(page, "#training-types") == [1, *[0.15] * (len(names) - 1)])
    training.locator("button[data-value='entropies']").click()

    collapse = page.locator("#collapse-section")
    assert "proved from the first layer on" in collapse.inner_text()
    traces = "document.querySelector('#collapse-depths .chart').data.length"
    assert page.evaluate(traces) == 6 + 1
    collapse.locator("button[data-value='1']").click()
    wait_until(page, lambda: page.evaluate(traces) == 6)
    assert "It does not speak of this network: it is masked." in collapse.inner_text()
    collapse.locator("button[data-value='cosine']").click()
    page.locator("#networks-section button[data-value='cka']").click()

    kinds = page.locator("#diagnostics-section")
    n_heads = kinds.locator("tbody tr").count()
    kinds.locator("button[data-value='previous token']").click()
    wait_until(page, lambda: 0 < kinds.locator("tbody tr").count() < n_heads)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
