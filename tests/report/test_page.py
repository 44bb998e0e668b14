"""The page itself: one file that loads nothing, in which text stays text."""

import base64
import hashlib
import json
import re

from haarbor.report import report_html
from haarbor.report._page import script_text
from tests.report.reading import blob, elements, page_data
from tests.report.runs import HOSTILE, text_run


def test_nothing_is_loaded_from_outside_and_only_these_scripts_run(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert rules["default-src"] == ["'none'"]
    assert "connect-src" not in rules
    allowed = set(rules["script-src"])
    assert len(allowed) == 2
    own = [text for kind, name, text in elements(page) if kind is None]
    assert len(own) == 1

    def digest(text):
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    plotly = blob(page, "plotly-source").decode()
    assert allowed == {digest(own[0]), digest(plotly)}
    assert "plotly.js v" in plotly[:200]
    assert not re.search(r"<(?:link|img|iframe|script)[^>]*(?:src|href)=", page)
    assert "innerHTML" not in own[0]


def test_text_of_a_run_cannot_end_its_element(tmp_path):
    labels = [HOSTILE, "a&b", "\u2028", "]]>", *(f"t{i}" for i in range(8))]
    run = text_run(
        tmp_path / "evil.zarr",
        n_tokens=12,
        n_batches=1,
        labels=labels,
        model=HOSTILE,
        settings={"data": HOSTILE},
    )
    page = report_html(run)
    assert HOSTILE not in page
    assert "<img" not in page
    found = page_data(page)["runs"][0]
    assert found["model"] == HOSTILE
    assert found["shown"][0]["query_labels"] == labels
    assert found["settings"]["captured"]["data"] == HOSTILE
    title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)[1]
    assert title.startswith("&lt;/script&gt;&lt;img src=x onerror=&quot;")


def test_script_text_is_ascii_json_that_means_the_same():
    value = {"<&>": "\u2028\u2029\ud800 </script>"}
    text = script_text(json.dumps(value))
    assert not set("<>&") & set(text)
    assert json.loads(text) == value
