"""The address keeps what is looked at, and takes nothing that it does not know."""

import pytest

from tests.browser.looking import chosen_in_map, state, wait_until


def hash_of(page):
    return page.evaluate("location.hash")


def at(path, address):
    """The file, opened at an address within it."""

    class Addressed:
        def as_uri(self):
            return path.as_uri() + address

    return Addressed()


KEPT = ("chosen", "score", "order", "brushed", "place", "firstToken", "palette")


def test_a_copied_link_and_a_reload_show_the_same(opened, text_page):
    page = opened(text_page)
    assert hash_of(page) == ""
    page.locator('#head-map .head[data-head="6"]').click()
    page.locator("#head-map").get_by_label("Score", exact=True).select_option("fine-share")
    page.locator("#head-map").get_by_label("Order", exact=True).select_option("tree")
    for head in (1, 9):
        page.locator(f'#head-map .head[data-head="{head}"]').click(modifiers=["Shift"])
    page.locator("#explorer-card").get_by_label("Batch", exact=True).select_option("1")
    page.locator("#explorer-card").get_by_label("First token", exact=True).select_option("hidden")
    page.locator("nav a", has_text="Stability").click()
    wanted = "#stability-section&head=1.2&score=fine-share&order=tree&first=hidden&compare=0.1,2.1&batch=1"
    wait_until(page, lambda: hash_of(page) == wanted)
    kept = {key: state(page, key) for key in KEPT}
    page.reload()
    page.wait_for_selector("html[data-usable]")
    assert {key: state(page, key) for key in KEPT} == kept
    other = opened(at(text_page, wanted))
    assert {key: state(other, key) for key in KEPT} == kept
    assert chosen_in_map(other) == 6
    assert other.locator("#comparison .compared").count() == 2
    assert other.locator("#head-map").get_by_label("Order", exact=True).input_value() == "tree"
    # A link pasted into the same window changes what is shown; what it does not name is as at first.
    other.evaluate("location.hash = '#head-map&head=0.3'")
    wait_until(other, lambda: state(other, "chosen") == 3)
    assert state(other, "brushed") == []
    assert hash_of(other) == "#head-map&head=0.3"


HOSTILE = (
    "#head=99.9&score=__proto__&order=constructor&compare=1.2,zzz,1.2,%3Cimg%20src=x%3E&batch=-1",
    "#%3Cimg src=x onerror=window.hacked=1%3E&head=%E0%A4%A",
    "#javascript:window.hacked=1&batch=1e9&token=99999999&first=<b>&palette=toString&scale=common",
    "#page-data&head=&score=&compare=&batch=&=&&==",
    "#" + "a=1&" * 3000,
)


def test_an_address_that_means_harm_is_inert(opened, text_page):
    page = opened(at(text_page, HOSTILE[0]))
    assert state(page, "brushed") == [6]
    plain = {"score": "entropy", "order": "grid", "place": 0, "firstToken": "shown", "palette": "viridis"}
    for address in (HOSTILE[0], *HOSTILE[1:]):
        page.evaluate("address => { location.hash = address; }", address)
        page.wait_for_timeout(50)
        assert {key: state(page, key) for key in plain} == plain
        assert state(page, "query") is None
        assert page.evaluate("window.hacked === undefined")
        assert page.locator("img").count() == 0
        # The page goes on, and what is written into the address is the page's own.
        head = 5 if state(page, "chosen") != 5 else 4
        page.locator(f'#head-map .head[data-head="{head}"]').click()
        name = {4: "head=1.0", 5: "head=1.1"}[head]
        wait_until(page, lambda name=name: name in hash_of(page))
        assert "a=1" not in hash_of(page)


def test_two_runs_keep_both_states(opened, two_page):
    page = opened(two_page)
    page.locator('#head-map-2 .head[data-head="3"]').click()
    page.locator("#head-map").get_by_label("Score", exact=True).select_option("energy-share")
    page.locator('#head-map .head[data-head="8"]').click()
    wait_until(page, lambda: hash_of(page) == "#head=2.0&score=energy-share&b.head=0.3")
    page.reload()
    page.wait_for_selector("html[data-usable]")
    assert [state(page, "chosen", run) for run in (0, 1)] == [8, 3]
    assert [state(page, "score", run) for run in (0, 1)] == ["energy-share"] * 2


TOPS = """() => Object.fromEntries([...document.querySelectorAll("#page > section, #page figure")].map(
  (node) => [node.id, Math.round(node.getBoundingClientRect().top + scrollY)]))"""


@pytest.mark.parametrize(("name", "width"), [("text_page", 1280), ("two_page", 390), ("picture_page", 390)])
def test_a_link_to_a_section_lands_there_and_nothing_jumps(opened, request, name, width):
    path = request.getfixturevalue(name)
    page = opened(at(path, "#network-entropy-section&head=0.1"), width=width)
    before = page.evaluate(TOPS)
    page.wait_for_selector("html[data-drawn]")
    assert page.evaluate(TOPS) == before
    top = page.locator("#network-entropy-section").bounding_box()["y"]
    bar = page.locator(".bar").bounding_box()["height"]
    assert 0 <= top - bar + 40 <= 80
