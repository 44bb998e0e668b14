"""What a page shows, asked of the page itself."""

import time

COLOURS = """canvas => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return seen.size;
}"""


def n_colours(canvas):
    """Number of different colours on a canvas."""
    return canvas.evaluate(COLOURS)


def state(page, key, run=0):
    return page.evaluate(f"Haarbor.runs[{run}].state.get({key!r})")


def wait_until(page, condition, seconds=60.0):
    """Return once `condition()` holds; AssertionError if it does not, however busy the machine is."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the page did not get there"
        page.wait_for_timeout(20)


def hovered_in_map(page):
    found = page.locator("#head-map .head.hovered")
    return int(found.get_attribute("data-head")) if found.count() else None


def chosen_in_map(page):
    return int(page.locator("#head-map .head.chosen").get_attribute("data-head"))
