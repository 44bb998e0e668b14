"""Every picture leaves the page as SVG and PNG, and the page goes on paper."""

import re
import xml.etree.ElementTree as ElementTree

from tests.browser.looking import wait_until


def saved(page, figure, kind):
    # Chromium drops all but ten downloads of a page within a second, which no hand would reach.
    page.wait_for_timeout(150)
    with page.expect_download() as waiting:
        page.locator(f"{figure} [data-save={kind}]").first.click()
    return waiting.value


def size_of_png(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def test_every_figure_is_saved_as_svg_and_png(opened, text_page):
    page = opened(text_page, charts=True)
    page.locator('#head-map .head[data-head="1"]').click(modifiers=["Shift"])
    page.locator('#head-map .head[data-head="2"]').click(modifiers=["Shift"])
    figures = [f"#{name}" for name in page.locator("#page figure").evaluate_all("f => f.map(x => x.id)")]
    assert len(figures) >= 12
    for figure in [*figures, "#comparison", "#explorer-card"]:
        found = saved(page, figure, "svg")
        text = found.path().read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert found.suggested_filename.endswith(".svg")
        # The title is text, what is drawn is there, and nothing is loaded from elsewhere.
        title = page.locator(f"{figure} h3").first.inner_text().split()[0]
        assert any(
            title in "".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")
        )
        assert len(list(root.iter())) > 5
        assert not re.findall(r'(?:href|src)="(?!data:|#)', text)
        assert "<script" not in text
    width, height = size_of_png(saved(page, "#head-map", "png").path().read_bytes())
    box = page.locator("#head-map").bounding_box()
    assert width == 2 * (round(box["width"]) + 28)
    assert 200 < height <= 2 * (round(box["height"]) + 28)
    cells = saved(page, "#head-map", "svg").path().read_text(encoding="utf-8")
    colour = page.locator('#head-map .head[data-head="7"]').evaluate(
        "c => getComputedStyle(c).backgroundColor"
    )
    assert colour in cells


def test_hostile_texts_are_texts_in_saved_pictures(opened, hostile_page):
    page = opened(hostile_page)
    root = ElementTree.fromstring(saved(page, "#on-input", "svg").path().read_text(encoding="utf-8"))
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<b>bold</b>" in texts
    assert {node.tag.rpartition("}")[2] for node in root.iter()} <= {"svg", "rect", "text", "image"}


def test_a_printed_page_has_everything_to_read_and_nothing_to_press(opened, text_page):
    page = opened(text_page, charts=True, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in (".bar", ".controls", ".save", ".keys", ".compared-bar"):
        assert page.locator(hidden).first.is_hidden()
    assert page.locator("#on-input .tokens").evaluate("t => t.scrollHeight <= t.clientHeight + 1")
    assert page.locator("#glossary-section").is_visible()
    page.emulate_media(media="screen", color_scheme="dark")
    # On paper the colours are light; on the screen they are as before.
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(243, 246, 248)"
    widths = page.locator("#counts svg.main-svg").first.get_attribute("width")
    assert float(widths) <= 650
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 22, 29)"
    chart = page.locator("#counts svg.main-svg").first
    wait_until(page, lambda: float(chart.get_attribute("width")) > 650)
    assert page.pdf(format="A4")[:5] == b"%PDF-"
