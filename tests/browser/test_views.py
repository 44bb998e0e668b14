"""Every view draws, at both widths and in both colours."""

import numpy as np
import pytest

from haarbor.report import write_report
from tests.browser.looking import n_colours, state, wait_until
from tests.report.runs import HOSTILE, kinds_run, logits_run, text_run

# Colours change no width: every page is looked at wide and narrow, once in each colour.
FITS = [
    ("text_page", 1280, "light"),
    ("text_page", 390, "dark"),
    ("picture_page", 1280, "dark"),
    ("picture_page", 390, "light"),
    ("two_page", 1280, "dark"),
    ("two_page", 390, "light"),
]


@pytest.mark.parametrize(("name", "width", "scheme"), FITS)
def test_pages_open_and_fit_their_width(opened, request, name, width, scheme):
    page = opened(request.getfixturevalue(name), width=width, scheme=scheme, charts=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for card in page.locator(".card:visible").all():
        box = card.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width + 1
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 22, 29)"
    assert dark == (scheme == "dark")
    assert page.locator("body").get_by_text("null", exact=True).count() == 0
    assert page.locator("body").get_by_text("undefined").count() == 0


def test_every_view_of_a_text_run_draws(opened, text_page):
    page = opened(text_page, charts=True)
    assert page.locator("#overview-card li").count() >= 4
    assert page.locator("#head-map .head").count() == 12
    assert n_colours(page.locator("#diffusion-map canvas")) > 10
    assert n_colours(page.locator("#affinity canvas")) > 10
    assert page.locator("#head-tree .leaf").count() == 12
    for matrix in page.locator("#explorer-card .matrix canvas").all():
        assert n_colours(matrix) > 20
    assert page.locator("#on-input .token").count() == 24
    assert n_colours(page.locator("#haar-scales canvas")) > 5
    assert page.locator("#nearest li").count() == 8
    for chart in (
        "#haar-scales",
        "#over-batches",
        "#agreement",
        "#tree-agreement",
        "#counts",
        "#network-entropy-chart",
    ):
        assert page.locator(f"{chart} .chart svg.main-svg").count() >= 1, chart
        assert page.locator(f"{chart} .chart path").count() >= 1, chart
    assert page.locator("#commands pre").inner_text().splitlines() == [
        "# text.zarr was made from arrays (haarbor.store.import_arrays): put it here first.",
        "haarbor organize text.zarr --iterations 1",
        "haarbor report text.zarr --batches 2",
    ]
    assert page.locator("#invariance-section").count() == 0


CANVASES = (
    "#diffusion-map canvas",
    "#affinity canvas",
    "#explorer-card .matrix canvas",
    "#on-input canvas",
    "#haar-scales canvas",
)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1, 2])
def test_canvases_follow_the_width_of_the_page_as_sharp_as_the_screen(opened, picture_page, ratio):
    page = opened(picture_page, width=1280, device_scale_factor=ratio)

    def widths():
        found = [page.locator(name).first.evaluate("c => [c.width, c.clientWidth]") for name in CANVASES]
        assert [sharp for sharp, _ in found] == [ratio * width for _, width in found]
        return [width for _, width in found]

    wait_until(page, lambda: all(width > 0 for width in widths()))
    wide = widths()
    page.set_viewport_size({"width": 340, "height": 900})
    wait_until(page, lambda: all(narrow < width for narrow, width in zip(widths(), wide, strict=True)))


def test_canvases_follow_the_colours_of_the_page(opened, picture_page):
    page = opened(picture_page)
    # The frame around a patch is what has the colours of the page on the picture.
    picture = page.locator("#on-input canvas").nth(1)
    picture.click(position={"x": 20, "y": 20})
    page.mouse.move(2, 2)
    page.wait_for_function("document.querySelector('#haar-scales canvas').width > 0")

    def drawn():
        return [page.locator(name).last.evaluate("c => c.toDataURL()") for name in CANVASES]

    wait_until(page, lambda: drawn() == drawn())
    light = drawn()
    page.locator("#theme").click()
    wait_until(page, lambda: all(dark != before for dark, before in zip(drawn(), light, strict=True)))
    page.locator("#theme").click()
    wait_until(page, lambda: drawn() == light)


def test_the_third_dimension_turns(opened, text_page):
    page = opened(text_page)
    canvas = page.locator("#diffusion-map canvas")
    flat = canvas.screenshot()
    page.get_by_role("button", name="3-D").click()
    wait_until(page, lambda: canvas.screenshot() != flat)
    before = canvas.screenshot()
    canvas.focus()
    page.keyboard.press("ArrowRight")
    wait_until(page, lambda: canvas.screenshot() != before)
    assert canvas.get_attribute("data-dimensions") == "3"


def test_attention_is_drawn_on_the_picture_for_the_patch_pointed_at(opened, picture_page):
    page = opened(picture_page)
    plain, to, _ = (page.locator("#on-input canvas").nth(i) for i in range(3))
    assert n_colours(plain) > 50
    words = page.locator("#on-input p.note").last
    assert words.inner_text().startswith("Token CLS: to itself")
    before = to.screenshot()
    box = to.bounding_box()
    to.hover(position={"x": box["width"] * 0.4, "y": box["height"] * 0.9})
    wait_until(page, lambda: words.inner_text().startswith("Patch 3,1: to itself"))
    assert to.screenshot() != before
    to.click(position={"x": box["width"] * 0.4, "y": box["height"] * 0.9})
    page.mouse.move(5, 5)
    wait_until(page, lambda: words.inner_text().startswith("Patch 3,1"))
    assert state(page, "query") == 1 + 3 * 4 + 1
    page.locator("#on-input button", has_text="CLS").click()
    assert state(page, "query") == 0


def test_tokens_show_where_the_one_pointed_at_looks(opened, text_page, text_runs):
    page = opened(text_page)
    head = state(page, "chosen")
    row = np.asarray(text_runs[0].tensor(0))[20, :, head]
    page.locator('#on-input .token[data-token="20"]').hover()
    words = page.locator("#on-input p.note")
    wait_until(page, lambda: words.inner_text().startswith("tok20 looks at "))
    assert f"looks at tok{np.argmax(row)} (" in words.inner_text()
    heats = page.locator("#on-input .token").evaluate_all(
        "tokens => tokens.map(token => parseFloat(token.style.getPropertyValue('--heat')))"
    )
    assert int(np.argmax(heats)) == int(np.argmax(row))
    np.testing.assert_allclose(np.array(heats) / 100, np.sqrt(row / row.max()), atol=0.02)
    page.get_by_role("button", name="What looks at it").click()
    page.locator('#on-input .token[data-token="3"]').hover()
    wait_until(page, lambda: "tok3 is looked at by" in words.inner_text())


OVERLAY = """canvas => {
  const side = 3, copy = document.createElement("canvas"), found = [];
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  for (let i = 0; i < side * side; i++) {
    const x = ((i % side) + 0.5) * canvas.width / side;
    const y = (Math.floor(i / side) + 0.5) * canvas.height / side;
    found.push([...context.getImageData(x, y, 1, 1).data.slice(0, 3)]);
  }
  return found;
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_a_token_of_the_text_shows_on_the_picture_where_it_looks(opened, language_page, language_run, width):
    page = opened(language_page, width=width)
    assert page.locator("#on-input h3").inner_text() == "Attention on the picture and the text"
    page.locator("#on-input input[type=range]").fill("100")
    words = page.locator("#on-input .attention-image > p.note")
    overlay = page.locator("#on-input canvas").nth(1)
    row = np.asarray(language_run.tensor(0))[:, :, state(page, "chosen")]
    for token in (12, 15):
        page.locator(f'#on-input .token[data-token="{token}"]').click()
        page.mouse.move(2, 2)
        label = language_run.labels(0).query[token]
        wait_until(page, lambda label=label: words.inner_text().startswith(f"Token {label}: to itself"))
        told = float(words.inner_text().split("to the picture ")[1])
        # The page keeps every entry in one byte, and writes two digits.
        assert told == pytest.approx(row[token, 1:10].sum(), abs=0.01)
        # Viridis at full strength: the larger the weight, the brighter the patch.
        colours = np.array(overlay.evaluate(OVERLAY))
        assert int(np.argmax(colours @ [0.3, 0.6, 0.1])) == int(np.argmax(row[token, 1:10]))
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_kinds_of_tokens_are_marked_and_explained(opened, language_page):
    page = opened(language_page)
    legend = page.locator("#on-input .kinds")
    assert legend.inner_text().split() == ["Tokens", "by", "kind:", "special", "1", "image", "9", "text", "6"]
    assert page.locator('#on-input .token[data-kind="image"]').count() == 9
    assert "part tokens of different kinds" in page.locator("#explorer-card").inner_text()


def test_the_page_says_why_image_tokens_are_on_no_picture(opened, tmp_path):
    labels = ("<s>", *["<image>"] * 9, *("what", "is", "in", "this", "picture", "?"))
    for name, options, reason in (
        ("no grid", {"labels": labels}, "form no grid of patches"),
        ("no picture", {"picture": False}, "holds no picture"),
    ):
        path = tmp_path / f"{name}.html"
        write_report(kinds_run(tmp_path / name, **options), path)
        page = opened(path)
        assert reason in page.locator("#on-input").inner_text()
        assert page.locator("#on-input canvas").count() == 0


def test_kinds_that_would_like_to_be_markup_are_text(opened, tmp_path):
    kinds = (HOSTILE, "__proto__", "constructor", *["answer"] * 13)
    write_report(kinds_run(tmp_path / "run", kinds=kinds, picture=False), tmp_path / "page.html")
    page = opened(tmp_path / "page.html")
    assert page.evaluate("window.hacked") is None
    assert page.locator("#on-input .kinds > .kind").count() == 4


@pytest.mark.parametrize("place", [0, 1])
def test_matrices_in_the_browser_are_those_of_the_run(opened, text_page, text_runs, place):
    page = opened(text_page)
    X = np.asarray(text_runs[0].tensor(place))
    for head in (0, 5, 11):
        found = page.evaluate(
            f"""(async () => {{
              const m = await Haarbor.headMatrix(Haarbor.runs[0], {place}, {head});
              return {{ values: Array.from(m.values), organised: Array.from(m.organised) }};
            }})()"""
        )
        error = page.evaluate(f"Haarbor.runs[0].data.shown[{place}].quantisation.largest_error")
        np.testing.assert_allclose(
            np.reshape(found["values"], (24, 24)), X[:, :, head], rtol=0, atol=1.01 * error
        )
        orders = page.evaluate(f"Haarbor.runs[0].data.shown[{place}].orders")
        np.testing.assert_allclose(
            np.reshape(found["organised"], (24, 24)),
            X[np.ix_(orders["query"], orders["key"], [head])][:, :, 0],
            rtol=0,
            atol=1.01 * error,
        )
        mask = page.evaluate(f"Haarbor.maskOf(Haarbor.runs[0], {place}).then(m => Array.from(m))")
        np.testing.assert_array_equal(np.reshape(mask, (24, 24)).astype(bool), text_runs[0].mask(place))


def test_another_batch_can_be_looked_at(opened, text_page):
    page = opened(text_page)
    canvas = page.locator("#explorer-card .matrix canvas").first
    before = canvas.screenshot()
    page.locator("#explorer-card").get_by_label("Batch", exact=True).select_option("1")
    wait_until(page, lambda: canvas.screenshot() != before)
    assert state(page, "place") == 1


@pytest.mark.slow
def test_logits_and_single_heads_have_pages_too(opened, tmp_path):
    write_report(logits_run(tmp_path / "raw.zarr"), tmp_path / "raw.html")
    page = opened(tmp_path / "raw.html", charts=True)
    assert n_colours(page.locator("#explorer-card .matrix canvas").nth(1)) > 20
    run = text_run(tmp_path / "one.zarr", n_tokens=8, n_layers=1, heads=1, n_batches=1)
    write_report(run, tmp_path / "one.html")
    page = opened(tmp_path / "one.html", charts=True)
    assert page.locator("#head-map .head").count() == 1
    assert page.locator("#diffusion-map").count() == 0


def test_blocks_stand_in_for_matrices_that_are_too_large(opened, tmp_path, monkeypatch):
    from haarbor.report import _shown_batch as shown_batch

    monkeypatch.setattr(shown_batch, "_MOST_CELLS", 2000)
    write_report(text_run(tmp_path / "large.zarr", n_batches=1), tmp_path / "large.html")
    page = opened(tmp_path / "large.html", charts=True)
    assert "Each cell is the mean of 3 x 3 entries." in page.locator("#explorer-card").inner_text()
    assert n_colours(page.locator("#explorer-card .matrix canvas").first) > 10
