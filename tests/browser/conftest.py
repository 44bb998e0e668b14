"""A real Chromium, pages made once, and the rule that a page neither errs nor asks the outside."""

import os
import shutil

import pytest

from haarbor.report import write_report
from tests.report.runs import HOSTILE, kinds_run, picture_run, text_run

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Looked at by default; the other tests take minutes, and run where CI is set.
QUICK = (
    "test_nothing_of_them_becomes_an_element_or_runs",
    "test_a_head_pressed_in_the_map_is_chosen_everywhere",
    "test_pages_open_and_fit_their_width[two_page-1280-dark]",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "browser" and item.name not in QUICK:
            item.add_marker(pytest.mark.slow)


def chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def browser():
    if chromium() is None and not os.environ.get("CI"):
        pytest.skip("there is no Chromium on this machine: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # A profile of its own, made and removed by playwright.
        running = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS), headless=True)
        yield running
        running.close()


@pytest.fixture
def opened(browser):
    """Function that opens a file and gives the page once it can be used; complaints fail the test."""
    contexts, complaints = [], []

    def open_page(path, *, width=1280, height=900, scheme="light", charts=False, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True, **options
        )
        # A machine may be busy with other tests; how quick a page is, a benchmark measures.
        context.set_default_timeout(120_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "blob:", "data:")) else complaints.append(r.url),
        )
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn]" if charts else "html[data-usable]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def text_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text-pages")
    return text_run(folder / "text.zarr"), text_run(folder / "other.zarr", n_batches=2, model="another")


@pytest.fixture(scope="session")
def text_page(text_runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "text.html"
    write_report(text_runs[0], path, n_batches=2)
    return path


@pytest.fixture(scope="session")
def two_page(text_runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "two.html"
    write_report(text_runs, path)
    return path


@pytest.fixture(scope="session")
def picture_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("picture-pages")
    path = folder / "pictures.html"
    write_report(picture_run(folder / "pictures.zarr"), path)
    return path


@pytest.fixture(scope="session")
def language_run(tmp_path_factory):
    """A run of a network that reads a picture and a text."""
    return kinds_run(tmp_path_factory.mktemp("kinds") / "kinds.zarr")


@pytest.fixture(scope="session")
def language_page(language_run, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "kinds.html"
    write_report(language_run, path)
    return path


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile-pages")
    labels = [HOSTILE, "<b>bold</b>", "&amp;", "\u2028", "=1+1", *(f"{HOSTILE}{i}" for i in range(11))]
    run = text_run(
        folder / "evil.zarr",
        n_tokens=16,
        labels=labels,
        model=HOSTILE,
        settings={"data": HOSTILE, HOSTILE: "x"},
    )
    path = folder / "evil.html"
    write_report(run, path)
    return path
