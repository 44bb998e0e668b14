"""Lines between tokens, layer by layer, and the first token hidden."""

import numpy as np

from tests.browser.looking import state, wait_until


def settled(page, canvas):
    """What is drawn on a canvas, once it no longer changes."""
    found = [None]

    def is_settled():
        before, found[0] = found[0], canvas.evaluate("c => c.toDataURL()")
        return found[0] == before

    wait_until(page, is_settled)
    return found[0]


def test_lines_follow_layer_heads_and_token(opened, text_page, text_runs):
    page = opened(text_page)
    figure = page.locator("#token-lines")
    canvas = figure.locator("canvas")
    canvas.scroll_into_view_if_needed()
    everything = settled(page, canvas)
    names = figure.locator(".line-head")
    layer = state(page, "chosen") // 4
    assert names.all_inner_texts() == [f"{layer}.{head}" for head in range(4)]
    names.nth(1).click()
    assert names.nth(1).get_attribute("aria-pressed") == "false"
    assert settled(page, canvas) != everything
    figure.get_by_role("button", name="All heads").click()
    assert settled(page, canvas) == everything
    figure.get_by_label("Layer", exact=True).select_option("2")
    assert state(page, "chosen") // 4 == 2
    assert names.first.inner_text() == "2.0"
    assert settled(page, canvas) != everything
    # By keyboard: the sixth token, what it looks at and what looks at it.
    canvas.focus()
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    words = figure.locator("p[aria-live]")
    X = np.asarray(text_runs[0].tensor(0))
    best = int(np.argmax(X[5, :, 8]))
    assert words.inner_text().startswith(f"tok5 looks most at \u2013 2.0: tok{best} (")
    page.keyboard.press("ArrowRight")
    best = int(np.argmax(X[:, 5, 8]))
    assert words.inner_text().startswith(f"tok5 is looked at most by \u2013 2.0: tok{best} (")
    # A token picked in the text is picked here.
    page.keyboard.press("Escape")
    plain = settled(page, canvas)
    page.locator('#on-input .token[data-token="20"]').click()
    page.mouse.move(2, 2)
    assert settled(page, canvas) != plain


MATRIX = """async (head) => {
  const found = await Haarbor.shownMatrix(Haarbor.runs[0], 0, head);
  return { values: Array.from(found.values), organised: Array.from(found.organised) };
}"""


def test_the_first_token_is_hidden_with_and_without_scaling_up_and_the_page_says_which(
    opened, text_page, text_runs
):
    page = opened(text_page)
    X = np.asarray(text_runs[0].tensor(0), dtype=float)[:, :, 5]
    order = page.evaluate("Haarbor.runs[0].data.shown[0].orders")
    rest = X.copy()
    rest[:, 0] = 0
    sums = rest.sum(axis=1, keepdims=True)
    wanted = {
        "shown": (X, ""),
        "hidden": (rest, "the other weights are as they were, so that rows sum to less than 1"),
        "rescaled": (np.divide(rest, sums, where=sums > 0, out=np.zeros_like(rest)), "scaled up to sum to 1"),
    }
    card = page.locator("#explorer-card")
    for choice, (values, words) in wanted.items():
        card.get_by_label("First token", exact=True).select_option(choice)
        found = page.evaluate(MATRIX, 5)
        np.testing.assert_allclose(np.reshape(found["values"], (24, 24)), values, atol=0.02)
        moved = values[np.ix_(order["query"], order["key"])]
        np.testing.assert_allclose(np.reshape(found["organised"], (24, 24)), moved, atol=0.02)
        for place in ("#explorer-card", "#on-input", "#token-lines"):
            assert words in page.locator(place).inner_text()
            assert ("The first token is hidden" in page.locator(place).inner_text()) == (choice != "shown")
        assert page.locator("#token-lines").get_by_label("First token").input_value() == choice
    # An entry of the hidden column tells that it is not shown.
    canvas = card.locator(".matrix canvas").first
    canvas.focus()
    page.keyboard.press("ArrowDown")
    wait_until(
        page, lambda: card.locator(".spoken").first.inner_text() == "tok0 \u2192 tok0: masked or hidden"
    )
