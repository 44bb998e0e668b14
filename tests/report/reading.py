"""A page read back, by other means than the page's own scripts."""

import base64
import json
import re
import zlib

import numpy as np

SCRIPT = re.compile(r'<script(?: type="([^"]*)" id="([^"]*)")?>(.*?)</script>', re.DOTALL)


def elements(page):
    """Every script element of a page: (type, id, text)."""
    return [(kind or None, name or None, text) for kind, name, text in SCRIPT.findall(page)]


def page_data(page):
    [text] = [text for _, name, text in elements(page) if name == "page-data"]
    return json.loads(text)


def blob(page, name):
    [text] = [text for _, found, text in elements(page) if found == name]
    return zlib.decompress(base64.b64decode(text))


def matrix(data, rows, columns, power, kept=None):
    """A packed matrix, entry by entry; NaN where an entry is not among the `kept` ones."""
    offsets = np.frombuffer(data, dtype="<f4", count=rows)
    scales = np.frombuffer(data, dtype="<f4", count=rows, offset=4 * rows)
    steps = iter(np.frombuffer(data, dtype=np.uint8, offset=8 * rows).tolist())
    found = np.full((rows, columns), np.nan)
    for row in range(rows):
        for column in range(columns):
            if kept is not None and not kept[row, column]:
                continue
            share = next(steps) / 255
            found[row, column] = offsets[row] + scales[row] * (share * share if power == 2 else share)
    assert next(steps, None) is None
    return found
