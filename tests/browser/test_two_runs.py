"""Two runs: one scale where they compare, and one at a time on narrow screens."""

import pytest

from tests.browser.looking import state

COLOUR = "c => getComputedStyle(c).backgroundColor"


def ticks(page, which):
    texts = page.locator(f"{which} .legend-ticks span").all_inner_texts()
    return float(texts[0]), float(texts[-1])


def test_a_score_that_compares_has_one_scale_and_one_that_does_not_has_two(opened, two_page):
    page = opened(two_page)
    both = [page.evaluate(f"Haarbor.runs[{i}].scoreNamed('entropy-normalised').values") for i in (0, 1)]
    assert state(page, "score") == "entropy-normalised"
    ends = min(map(min, both)), max(map(max, both))
    for which in ("#head-map", "#head-map-2"):
        assert ticks(page, which) == pytest.approx(ends, rel=0.01)
        assert "Both runs have the same scale." in page.locator(f"{which} .legend").inner_text()
    page.locator("#head-map-2").get_by_label("Score", exact=True).select_option("entropy")
    assert state(page, "score") == "entropy"
    for i, which in enumerate(("#head-map", "#head-map-2")):
        values = page.evaluate(f"Haarbor.runs[{i}].scoreNamed('entropy').values")
        assert ticks(page, which) == pytest.approx((min(values), max(values)), rel=0.01)
        assert "each has its own scale" in page.locator(f"{which} .legend").inner_text()
    page.locator("#head-map").get_by_label("Score", exact=True).select_option("energy-share")
    page.locator("#head-map").get_by_label("Scale", exact=True).select_option("values")
    assert "Each run has its own scale." in page.locator("#head-map-2 .legend").inner_text()


def test_on_a_phone_tabs_say_which_run_is_shown(opened, two_page):
    page = opened(two_page, width=390, charts=True)
    tabs = page.get_by_role("tab")
    assert tabs.all_inner_texts() == ["A made up", "B another"]
    assert page.locator("#head-map").is_visible()
    assert page.locator("#head-map-2").is_hidden()
    tabs.first.focus()
    page.keyboard.press("ArrowRight")
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    assert page.locator("#head-map-2").is_visible()
    assert page.locator("#head-map").is_hidden()
    # What was hidden while it was drawn has its width now.
    canvas = page.locator("#affinity-2 canvas")
    canvas.scroll_into_view_if_needed()
    assert canvas.bounding_box()["width"] > 250
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.locator("#head-map").is_visible()
    assert page.locator("#head-map-2").is_visible()
    assert tabs.first.is_hidden()


CLIPPED = """() => [...document.querySelectorAll("#page :is(button, h3, h4, th, p), nav a")]
  .filter((node) => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1 && node.clientWidth)
  .map((node) => node.textContent)"""


@pytest.mark.parametrize("width", [1280, 390])
def test_no_words_are_clipped(opened, two_page, width):
    page = opened(two_page, width=width, charts=True)
    assert page.evaluate(CLIPPED) == []
    # Axis titles lie within their charts.
    for chart in page.locator(".chart:visible").all():
        box = chart.bounding_box()
        for title in chart.locator(".xtitle, .ytitle").all():
            inner = title.bounding_box()
            assert inner["x"] >= box["x"] - 1
            assert inner["x"] + inner["width"] <= box["x"] + box["width"] + 1
