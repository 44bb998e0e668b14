"""Heads side by side: picked by rectangle, told by a bar, shown as they are."""

import numpy as np
import pytest

from tests.browser.looking import n_colours, state, wait_until


def press(page, *heads):
    for head in heads:
        page.locator(f'#head-map .head[data-head="{head}"]').click(modifiers=["Shift"])


def drag(page, first, last):
    """Drag from the middle of the cell of a head to that of another."""
    page.locator(f'#head-map .head[data-head="{first}"]').hover()
    page.mouse.down()
    box = page.locator(f'#head-map .head[data-head="{last}"]').bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    shown = page.locator("#head-map .brush").is_visible()
    page.mouse.up()
    return shown


def test_a_rectangle_over_the_map_picks_the_heads_in_it(opened, text_page):
    page = opened(text_page)
    chosen = state(page, "chosen")
    assert drag(page, 0, 6)  # layers 0 and 1, heads 0 to 2
    assert state(page, "brushed") == [0, 1, 2, 4, 5, 6]
    assert drag(page, 11, 6)  # from the lower right to the upper left
    assert state(page, "brushed") == [6, 7, 10, 11]
    assert not page.locator("#head-map .brush").is_visible()
    assert state(page, "chosen") == chosen
    # The same with the keyboard.
    page.locator("#head-map .head.chosen").focus()
    page.locator('#head-map .head[data-head="1"]').focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    assert state(page, "brushed") == [1, 2, 5, 6]


def test_a_bar_is_there_with_the_first_head_and_leads_to_the_comparison(opened, text_page):
    page = opened(text_page)
    bar = page.locator(".compared-bar")
    assert bar.is_hidden()
    press(page, 1)
    assert "One head picked" in bar.inner_text()
    assert bar.locator("a").count() == 0
    press(page, 9)
    assert "Comparing 2 heads" in bar.inner_text()
    bar.get_by_role("link", name="See them side by side").click()
    section = page.locator("#comparison-section")
    wait_until(page, lambda: 0 <= section.bounding_box()["y"] < 150)
    # Heads are taken out in the bar, too, and the keyboard stays there.
    press(page, 4)
    bar.get_by_role("button", name="Take head 1.0 out").focus()
    page.keyboard.press("Enter")
    assert state(page, "brushed") == [1, 9]
    assert bar.evaluate("b => b.contains(document.activeElement)")
    bar.get_by_role("button", name="Clear").click()
    assert bar.is_hidden()


def test_compared_heads_stand_side_by_side_with_matrices_tokens_and_scores(opened, text_page, text_runs):
    page = opened(text_page)
    panel = page.locator("#comparison")
    assert "No heads to compare yet" in panel.inner_text()
    press(page, 1, 4, 9)
    assert panel.locator("h3").inner_text() == "Comparing 3 heads"
    cards = panel.locator(".compared")
    assert cards.evaluate_all("c => c.map(x => Number(x.dataset.head))") == [1, 4, 9]
    wait_until(page, lambda: all(n_colours(canvas) > 20 for canvas in panel.locator(".matrix canvas").all()))
    tops = cards.evaluate_all("c => c.map(x => x.getBoundingClientRect().top)")
    assert len(set(tops)) == 1
    # One token pointed at is told by every head, each with its own weights.
    cards.nth(0).locator('.token[data-token="20"]').hover()
    X = np.asarray(text_runs[0].tensor(0))
    for card, head in zip(cards.all(), (1, 4, 9), strict=True):
        words = card.locator("p.note[aria-live]").last
        wanted = f"tok20 looks at tok{np.argmax(X[20, :, head])} ("
        wait_until(page, lambda words=words, wanted=wanted: words.inner_text().startswith(wanted))
    table = panel.locator("table")
    values = page.evaluate("Haarbor.runs[0].scoreNamed('entropy').values")
    row = table.locator("tr", has=page.locator('[data-score="entropy"]')).locator("td")
    assert [float(text) for text in row.all_inner_texts()] == pytest.approx(
        [values[head] for head in (1, 4, 9)], rel=0.01
    )
    panel.get_by_role("button", name="Haar entropy", exact=True).click()
    wanted = sorted([1, 4, 9], key=lambda head: -values[head])
    assert cards.evaluate_all("c => c.map(x => Number(x.dataset.head))") == wanted
    assert (
        table.locator("thead th[data-head]").evaluate_all("c => c.map(x => Number(x.dataset.head))") == wanted
    )
    assert "null" not in panel.inner_text()
    panel.get_by_role("button", name="Clear").click()
    assert cards.count() == 0


def test_compared_heads_have_one_scale_or_each_its_own(opened, text_page):
    page = opened(text_page)
    press(page, 0, 11)
    panel = page.locator("#comparison")
    canvases = panel.locator(".matrix canvas")
    wait_until(page, lambda: all(n_colours(canvas) > 5 for canvas in canvases.all()))
    common = [canvas.evaluate("c => c.toDataURL()") for canvas in canvases.all()]
    panel.get_by_role("button", name="Each its own").click()
    page.wait_for_timeout(200)
    own = [canvas.evaluate("c => c.toDataURL()") for canvas in canvases.all()]
    # The head with the largest values is the same on both scales, the other becomes brighter.
    assert sum(one != two for one, two in zip(common, own, strict=True)) == 1


def test_pictures_are_compared_patch_by_patch(opened, picture_page):
    page = opened(picture_page)
    press(page, 0, 4)
    canvases = page.locator("#comparison .on-image canvas")
    wait_until(page, lambda: canvases.count() == 2 and all(n_colours(c) > 20 for c in canvases.all()))
    before = [canvas.evaluate("c => c.toDataURL()") for canvas in canvases.all()]
    canvases.first.click(position={"x": 10, "y": 10})
    page.mouse.move(2, 2)
    assert state(page, "query") == 1
    wait_until(
        page,
        lambda: all(
            canvas.evaluate("c => c.toDataURL()") != old
            for canvas, old in zip(canvases.all(), before, strict=True)
        ),
    )
