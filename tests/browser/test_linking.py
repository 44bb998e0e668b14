"""One head in every view: what is pointed at, pressed, brushed, folded, searched."""

import pytest

from tests.browser.looking import chosen_in_map, hovered_in_map, state, wait_until


def test_a_head_pressed_in_the_map_is_chosen_everywhere(opened, text_page):
    page = opened(text_page)
    page.locator('#head-map .head[data-head="6"]').click()
    assert state(page, "chosen") == 6
    assert page.locator('#head-tree .leaf[data-head="6"]').get_attribute("class").split().count("chosen") == 1
    assert page.locator("#head-tree .folder.chosen").count() >= 2  # the folders above it
    assert page.locator("#explorer-card h3").inner_text() == "Head 1.2 layer 1, head 2"
    assert chosen_in_map(page) == 6


def test_a_head_pressed_in_any_view_is_chosen_in_the_map(opened, text_page):
    page = opened(text_page)
    page.locator('#head-tree .leaf[data-head="3"]').click()
    assert chosen_in_map(page) == 3
    nearest = page.locator("#nearest li button").first
    wanted = int(nearest.get_attribute("data-head"))
    nearest.click()
    assert chosen_in_map(page) == wanted
    chip = page.locator("#overview-card .chip").first
    wanted = int(chip.get_attribute("data-head"))
    chip.click()
    assert chosen_in_map(page) == wanted
    canvas = page.locator("#affinity canvas")
    side, order = canvas.bounding_box()["width"], page.evaluate("Haarbor.runs[0].data.geometry.order")
    # The middle of the fifth row, past the strip of layers.
    canvas.click(position={"x": side / 2, "y": 13 + (side - 13) * 4.5 / 12})
    assert chosen_in_map(page) == order[4]


def test_a_point_of_the_cloud_is_a_head(opened, text_page):
    page = opened(text_page)
    canvas = page.locator("#diffusion-map canvas")
    canvas.scroll_into_view_if_needed()
    points = page.evaluate("Haarbor.runs[0].data.geometry.coordinates")
    lonely = max(
        range(12),
        key=lambda i: min(
            (points[i][0] - q[0]) ** 2 + (points[i][1] - q[1]) ** 2 for j, q in enumerate(points) if j != i
        ),
    )
    width, height = canvas.bounding_box()["width"], 400
    place = []
    for k, (low, high) in enumerate(((44, width - 14), (400 - 36, 14))):
        values = [point[k] for point in points]
        middle, half = (min(values) + max(values)) / 2, (max(values) - min(values)) / 2
        place.append((low + high) / 2 + (points[lonely][k] - middle) / half * 0.92 * (high - low) / 2)
    assert 0 < place[1] < height
    canvas.hover(position={"x": place[0], "y": place[1]})
    wait_until(page, lambda: hovered_in_map(page) == lonely)
    canvas.click(position={"x": place[0], "y": place[1]})
    assert chosen_in_map(page) == lonely


def test_a_head_pointed_at_shines_in_the_other_views_and_shows_its_card(opened, text_page):
    page = opened(text_page)
    page.locator('#head-map .head[data-head="5"]').hover()
    assert page.locator('#head-tree .leaf[data-head="5"].hovered').count() == 1
    card = page.locator(".tooltip")
    assert card.is_visible()
    assert card.locator("strong").inner_text() == "1.1"
    assert "Haar entropy: " in card.inner_text()
    page.mouse.move(2, 2)
    assert hovered_in_map(page) is None
    assert card.is_hidden()
    page.locator('#head-tree .leaf[data-head="8"]').hover()
    assert hovered_in_map(page) == 8
    canvas = page.locator("#affinity canvas")
    side = canvas.bounding_box()["width"]
    canvas.hover(position={"x": side / 2, "y": 13 + (side - 13) * 0.5 / 12})
    assert hovered_in_map(page) == page.evaluate("Haarbor.runs[0].data.geometry.order[0]")


def test_the_score_changes_colours_and_legend_in_all_views(opened, text_page):
    page = opened(text_page)
    cell = page.locator('#head-map .head[data-head="2"]')
    leaf = page.locator('#head-tree .leaf[data-head="2"] rect')
    before = cell.evaluate("c => getComputedStyle(c).backgroundColor"), leaf.get_attribute("fill")
    page.locator("[data-role=score]").select_option("fine-share")
    after = cell.evaluate("c => getComputedStyle(c).backgroundColor"), leaf.get_attribute("fill")
    assert before[0] != after[0]
    assert before[1] != after[1]
    legend = page.locator("#head-map .legend").inner_text()
    assert legend.startswith("Share of fine scales")
    assert "which a blurred copy would lose" in legend
    assert "High: mostly fine detail." in legend
    values = page.evaluate("Haarbor.runs[0].scoreNamed('fine-share').values")
    low = page.locator("#head-map .legend-ticks span").first.inner_text()
    assert float(low) == pytest.approx(min(values), rel=0.01)


def test_heads_can_be_sorted(opened, text_page):
    page = opened(text_page)
    values = page.evaluate("Haarbor.runs[0].score().values")

    def shown():
        return [
            int(h) for h in page.locator("#head-map .head").evaluate_all("c => c.map(x => x.dataset.head)")
        ]

    assert shown() == list(range(12))
    page.locator("#head-map").get_by_label("Order", exact=True).select_option("score")
    assert shown() == sorted(range(12), key=lambda h: (-values[h], h))
    page.locator("#head-map").get_by_label("Order", exact=True).select_option("layer")
    assert shown() == [
        h for layer in range(3) for h in sorted(range(4 * layer, 4 * layer + 4), key=lambda h: -values[h])
    ]
    page.locator("#head-map").get_by_label("Order", exact=True).select_option("tree")
    assert shown() == page.evaluate("Haarbor.runs[0].data.geometry.order")
    page.get_by_role("button", name="Pictures").click()
    assert page.locator("#head-map .head canvas").count() == 12


def test_a_folder_that_stands_for_a_chain_says_its_steps(opened, text_page):
    page = opened(text_page)
    # Ten of twelve heads come off one after another, and two are left.
    page.evaluate("""() => {
        const run = Haarbor.runs[0];
        const n = run.nHeads;
        const heads = [...Array(n).keys()];
        const rest = heads.map((head) => Math.min(head, n - 2));
        Object.assign(run.data.geometry, {
            levels: [heads.map(() => 0), rest, heads], order: heads, chains: [[0, 0, n - 2]],
        });
        document.querySelector("#head-tree").remove();
        Haarbor.headTree(run, document.querySelector("#head-map").parentElement);
    }""")
    root = page.locator('#head-tree .folder[data-heads="12"]')
    wait_until(page, lambda: root.count() == 1)
    assert root.get_attribute("aria-label") == "folder of 12 heads, apart in 10 steps, level 0"
    assert root.locator(".name").text_content() == "12 heads, apart in 10 steps"
    pair = page.locator('#head-tree .folder[data-heads="2"]')
    assert pair.get_attribute("aria-label") == "folder of 2 heads, level 1"
    root.locator("rect").hover(position={"x": 300, "y": 10})
    assert "12 heads, apart in 10 steps" in page.locator(".tooltip").text_content()


def test_folders_fold_and_zoom(opened, text_page):
    page = opened(text_page)
    folders = page.locator("#head-tree .folder")
    everything = folders.count()
    page.locator("[data-role=fold]").select_option("1")
    folded = folders.count()
    assert folded < everything
    assert page.locator("#head-tree .closed").count() >= 1
    first = page.locator("#head-tree .closed .toggle").first
    first.click()
    assert folders.count() > folded
    page.get_by_role("button", name="Open all").click()
    assert folders.count() == everything
    inner = page.locator('#head-tree .folder[aria-expanded="true"]').nth(1)
    size = int(inner.get_attribute("data-heads"))
    inner.dblclick()
    assert page.locator("#head-tree .leaf").count() == size
    page.locator("[data-act=zoom-out]").click()
    wait_until(page, lambda: page.locator("#head-tree .leaf").count() > size)


def test_drawing_around_points_and_pressing_a_folder_brush(opened, text_page):
    page = opened(text_page)
    canvas = page.locator("#diffusion-map canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 4)
    page.mouse.down()
    for x, y in ((box["width"] - 4, 4), (box["width"] - 4, 370), (40, 370), (40, 6)):
        page.mouse.move(box["x"] + x, box["y"] + y, steps=6)
    page.mouse.up()
    assert state(page, "brushed") == list(range(12))
    folder = page.locator('#head-tree .folder[aria-expanded="true"]').nth(1)
    size = int(folder.get_attribute("data-heads"))
    folder.click(position={"x": 40, "y": 8})
    assert len(state(page, "brushed")) == size < 12


def test_heads_are_found_by_name_and_by_layer(opened, text_page):
    page = opened(text_page)
    box = page.locator("#search")
    box.fill("2.1")
    assert hovered_in_map(page) == 9
    box.press("Enter")
    assert chosen_in_map(page) == 9
    box.fill("layer 1")
    assert state(page, "brushed") == [4, 5, 6, 7]
    box.fill("layer 2 head 3")
    box.press("Enter")
    assert chosen_in_map(page) == 11
    box.fill("9.9")
    assert page.locator(".find [role=status]").inner_text() == "no such head"


def test_sentences_lead_to_their_pictures(opened, text_page):
    page = opened(text_page)
    for link in page.locator("#overview-card a").all():
        target = link.get_attribute("href")
        assert page.locator(target).count() == 1, target
    sentence = page.locator("#overview-card li").nth(1)
    sentence.locator("a").click()
    assert len(state(page, "brushed")) == 6
    wait_until(page, lambda: page.locator("#head-map").bounding_box()["y"] < 400)


def test_the_page_can_be_used_without_a_pointer(opened, text_page):
    page = opened(text_page)
    page.locator("#head-map .head.chosen").focus()
    start = chosen_in_map(page)
    key, step = ("ArrowRight", 1) if start % 4 < 3 else ("ArrowLeft", -1)
    page.keyboard.press(key)
    assert hovered_in_map(page) == start + step
    page.keyboard.press("Enter")
    assert chosen_in_map(page) == start + step
    page.keyboard.press(" ")
    assert state(page, "brushed") == [start + step]
    page.locator("#head-tree .folder").first.focus()
    before = page.locator("#head-tree .folder").count()
    page.keyboard.press(" ")
    assert page.locator("#head-tree .folder").count() == 1 < before
    page.keyboard.press(" ")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert len(state(page, "brushed")) > 1
    page.locator("#affinity canvas").focus()
    page.keyboard.press("ArrowDown")
    assert "affinity" in page.locator("#affinity .spoken").inner_text()
    page.locator("#explorer-card .matrix canvas").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("#explorer-card .spoken").first.inner_text().startswith("tok1 \u2192 tok0: ")


def test_pointing_at_an_entry_marks_the_same_one_in_the_other_order(opened, text_page):
    page = opened(text_page)
    first, second = (page.locator("#explorer-card .matrix canvas").nth(i) for i in range(2))
    first.scroll_into_view_if_needed()
    before = second.screenshot()
    first.hover(position={"x": 200, "y": 400})
    wait_until(page, lambda: second.screenshot() != before)
    assert "\u2192" in page.locator(".tooltip").inner_text()


def test_colours_of_the_page_can_be_switched(opened, text_page):
    page = opened(text_page, charts=True)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme").click()
    assert page.evaluate(ground) != light
    axis = page.locator("#network-entropy-chart .xtitle")
    wait_until(page, lambda: axis.evaluate("t => t.style.fill") == "rgb(230, 237, 243)")
    page.locator("#theme").click()
    assert page.evaluate(ground) == light


def test_two_runs_are_linked_each_for_itself_or_together(opened, two_page):
    page = opened(two_page, charts=True)
    assert page.locator(".side").count() >= 8
    page.locator('#head-map-2 .head[data-head="3"]').click()
    assert state(page, "chosen", run=1) == 3
    assert page.locator("#explorer-card-2 h3").inner_text().startswith("Head 0.3")
    first = state(page, "chosen", run=0)
    page.locator("#same-head").check()
    page.locator('#head-map .head[data-head="7"]').click()
    assert (state(page, "chosen", run=0), state(page, "chosen", run=1)) == (7, 7)
    assert first != 7
    table = page.locator("#two-networks-section table").inner_text()
    assert "made up" in table
    assert "another" in table
    assert page.locator("#difference-map svg.main-svg").count() >= 1
