"""How large the page of a large run is, and how soon it can be used in a real Chromium.

python benchmarks/page.py
"""

import statistics
import sys
import tempfile
from pathlib import Path

from machine import machine_line
from playwright.sync_api import sync_playwright

from haarbor.report import write_report

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.browser.conftest import FLAGS, chromium
from tests.browser.test_opening import LARGE, large_run


def usable_ms(browser, path):
    """Milliseconds from the begin of navigation until everything but the charts is drawn; median of 5."""
    times = []
    for _ in range(5):
        page = browser.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-usable]", timeout=60_000)
        times.append(int(page.evaluate("document.documentElement.dataset.usable")))
        page.close()
    return statistics.median(times)


def main():
    print(machine_line())
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS), headless=True)
        for name, (n_tokens, n_layers, heads, side, _) in LARGE.items():
            run = large_run(Path(folder) / f"{name}.zarr", n_tokens, n_layers, heads, side=side)
            path = Path(folder) / f"{name}.html"
            n_bytes = write_report(run, path)
            print(f"{name}: {n_bytes / 1e6:.1f} MB, usable after {usable_ms(browser, path)} ms", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
