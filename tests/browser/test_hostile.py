"""Texts of a run that would like to be markup stay texts."""

import socket

import pytest

from tests.browser.looking import wait_until
from tests.report.runs import HOSTILE


def test_tokens_names_and_settings_are_shown_as_they_are(opened, hostile_page):
    page = opened(hostile_page, charts=True)
    assert page.title().startswith(HOSTILE)
    assert page.locator("h1").inner_text() == HOSTILE
    assert HOSTILE in page.locator("#overview-card").inner_text()
    tokens = page.locator("#on-input .token")
    assert tokens.nth(1).inner_text() == "<b>bold</b>"
    assert tokens.nth(2).inner_text() == "&amp;"
    assert tokens.nth(0).inner_text().startswith("</script><img src=x onerror=")
    settings = page.locator("#provenance-section").inner_text()
    assert settings.count(HOSTILE) >= 2
    tokens.nth(0).hover()
    wait_until(page, lambda: "looks at" in page.locator("#on-input p.note").inner_text())
    canvas = page.locator("#explorer-card .matrix canvas").first
    canvas.scroll_into_view_if_needed()
    canvas.hover(position={"x": 120, "y": 420})
    assert page.locator(".tooltip").is_visible()
    page.locator("#network-entropy-chart").scroll_into_view_if_needed()


def test_nothing_of_them_becomes_an_element_or_runs(opened, hostile_page):
    page = opened(hostile_page, charts=True)
    assert page.evaluate("window.hacked === undefined")
    assert page.locator("img").count() == 0
    assert page.locator("#page b").count() == 0


def test_even_a_script_that_got_in_would_neither_run_nor_reach_out(browser, hostile_page):
    context = browser.new_context()
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(hostile_page.as_uri())
    page.wait_for_selector("html[data-usable]")
    with socket.create_server(("127.0.0.1", 0)) as outside:
        address = f"http://127.0.0.1:{outside.getsockname()[1]}/x"
        page.evaluate(
            """(address) => {
              const script = document.createElement("script");
              script.textContent = "window.hacked = 2";
              document.body.append(script);
              const image = document.createElement("img");
              image.src = address;
              image.setAttribute("onerror", "window.hacked = 3");
              document.body.append(image);
              fetch(address).catch(() => null);
            }""",
            address,
        )
        outside.settimeout(0.3)
        with pytest.raises(TimeoutError):
            outside.accept()
    assert page.evaluate("window.hacked === undefined")
    context.close()


def test_two_hostile_models_in_the_charts_are_text(opened, tmp_path):
    from haarbor.report import write_report
    from tests.report.runs import text_run

    evil = "<img src=x onerror=window.hacked=1><b>x</b>"
    runs = [text_run(tmp_path / f"{i}.zarr", n_tokens=10, n_batches=2, model=f"{evil}{i}") for i in range(2)]
    write_report(runs, tmp_path / "two.html")
    page = opened(tmp_path / "two.html", charts=True)
    assert page.evaluate("window.hacked === undefined")
    assert page.locator("img").count() == 0
    assert evil in page.locator("#along-depth .legend").text_content()
