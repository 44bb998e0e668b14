import base64
import hashlib
import importlib
import json
import os
import re
import shutil
import stat

import numpy as np
import pytest

from haarbor.errors import DataError, SettingError, StoreError
from haarbor.report import report_html, write_report
from haarbor.report._page import script_text
from haarbor.store import import_arrays, open_run
from tests.report.reading import blob, elements, matrix, page_data
from tests.report.runs import HOSTILE, logits_run, network_tensors, text_run


@pytest.fixture(scope="module")
def page(text):
    return report_html(text)


def test_the_same_run_gives_the_same_bytes_wherever_it_lies(text, page, tmp_path):
    assert report_html(text) == page
    copy = shutil.copytree(text.location, tmp_path / "text.zarr")
    assert report_html(open_run(copy)) == page
    assert str(tmp_path) not in page
    assert "/tmp" not in json.dumps(page_data(page))


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


def test_the_page_holds_the_scores_and_geometry_of_the_run(text, page):
    found = page_data(page)["runs"][0]
    scores = {score["name"]: score for score in found["scores"]}
    entropies = [text.load_result("head-entropy", batch=batch).raw for batch in text.batches]
    np.testing.assert_allclose(scores["entropy"]["values"], np.mean(entropies, axis=0), rtol=1e-5)
    np.testing.assert_allclose(scores["entropy"]["by_batch"], entropies, rtol=1e-5)
    assert all(score["meaning"] and score["high"] and score["low"] for score in found["scores"])
    consensus = text.load_result("consensus")
    np.testing.assert_array_equal(found["geometry"]["levels"], consensus.tree.levels)
    assert sorted(found["geometry"]["order"]) == list(range(12))
    distances = np.frombuffer(blob(page, "run-0-geometry-distances"), dtype="<f4").reshape(12, 12)
    np.testing.assert_allclose(distances, consensus.distances / 3, rtol=1e-6)
    affinity = matrix(blob(page, "run-0-geometry-affinity"), 12, 12, 1)
    np.testing.assert_allclose(affinity, consensus.affinity, atol=1 / 255)
    for head, nearest in enumerate(found["geometry"]["nearest"]):
        apart = np.where(np.arange(12) == head, np.inf, consensus.distances[head])
        assert nearest[0] == np.argmin(apart)
        assert head not in nearest
        assert found["geometry"]["nearest_distances"][head] == sorted(
            found["geometry"]["nearest_distances"][head]
        )


def test_parts_that_are_absent_are_not_mentioned(text, page, tmp_path):
    found = page_data(page)["runs"][0]
    assert sorted(found["sections"]) == ["network-entropy", "stability"]
    one = text_run(tmp_path / "one.zarr", n_batches=1, n_tokens=12)
    found = page_data(report_html(one))["runs"][0]
    assert sorted(found["sections"]) == ["network-entropy"]
    assert not [score for score in found["scores"] if score["name"].startswith("batches")]
    assert "batches are" not in json.dumps(found["overview"])


def test_commands_and_settings_make_the_page_again(text, page):
    about = page_data(page)["about"]
    assert about["commands"] == [
        "haarbor organize text.zarr --iterations 1",
        "haarbor report text.zarr",
    ]
    assert about["versions"]["plotly"]
    settings = page_data(page)["runs"][0]["settings"]
    assert settings["organised"]["n_iterations"] == "1"
    assert settings["scored"] == {"functions per head": 400, "functions of the network": 100}
    more = report_html([text, text], n_batches=2, content="probabilities")
    assert page_data(more)["about"]["commands"][-1] == ("haarbor report text.zarr text.zarr --batches 2")


def test_two_runs_and_several_batches_are_kept_apart(text, pictures):
    page = report_html([text, pictures], n_batches=2)
    first, second = page_data(page)["runs"]
    assert (first["model"], second["model"]) == ("made up", "sees")
    assert [shown["batch"] for shown in first["shown"]] == [0, 1]
    assert blob(page, "run-0-batch-1-head-3") != blob(page, "run-0-batch-0-head-3")
    assert blob(page, "run-1-batch-1-picture") == pictures.picture(1).tobytes()


def test_logits_alone_can_be_reported(tmp_path):
    page = report_html(logits_run(tmp_path / "raw.zarr"))
    found = page_data(page)["runs"][0]
    assert found["content"] == "logits"
    assert "attention logits" in found["overview"][0]["parts"][0]


def test_one_head_in_all_is_a_page_too(tmp_path):
    run = text_run(tmp_path / "one-head.zarr", n_tokens=8, n_layers=1, heads=1, n_batches=2)
    found = page_data(report_html(run))["runs"][0]
    assert found["geometry"]["coordinates"] == [[]]
    assert found["geometry"]["nearest"] == [[]]


def test_names_and_labels_that_cannot_be_encoded_are_shown_all_the_same(tmp_path):
    odd = "half \ud800 \x1b[2J\u202e"
    name = "odd \x1b[2J\u202e"
    run = text_run(tmp_path / "odd.zarr", n_tokens=8, n_layers=1, n_batches=1, model=name, labels=[odd] * 8)
    write_report(run, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert r"<title>odd \x1b[2J\u202e - attention heads</title>" in page
    found = page_data(page)["runs"][0]
    assert found["model"] == name
    assert found["shown"][0]["query_labels"] == [odd] * 8
    # In the page they are written with plain letters.
    assert not {"\x1b", "\u202e"} & set(page)


def test_runs_that_are_not_organised_are_refused(tmp_path):
    run = import_arrays(
        network_tensors(1, 8, 1, 2), tmp_path / "new.zarr", axes=("batch", "query", "key", "head")
    )
    with pytest.raises(DataError, match=r"must be organised before it is reported.*haarbor organize"):
        report_html(run)


def test_other_choices_are_refused(text):
    with pytest.raises(SettingError, match="one run or of two; found 3"):
        report_html([text, text, text])
    with pytest.raises(SettingError, match="one run or of two; found 0"):
        report_html([])
    for wrong in (0, None, 1.5, "2", True, [1]):
        with pytest.raises(SettingError, match=r"n_batches must be a whole number from 1; found .*\. Pass"):
            report_html(text, n_batches=wrong)
    for wrong in (None, 3, "run.zarr", [None], [text, "run.zarr"], object()):
        with pytest.raises(
            SettingError, match=r"run must be a Run; found .*\. Open it with haarbor\.open_run"
        ):
            report_html(wrong)
    with pytest.raises(
        SettingError, match=r"content must be one that the run holds, probabilities; found 'log"
    ):
        report_html(text, content="logits")
    with pytest.raises(SettingError, match="stream must be one of self; found 'cross'"):
        report_html(text, stream="cross")


def test_a_page_is_written_whole_or_not_at_all(text, page, tmp_path):
    target = tmp_path / "report.html"
    assert write_report(text, target) == len(page.encode())
    assert target.read_text(encoding="utf-8") == page
    with pytest.raises(StoreError, match=r"the report must be written into a folder; there is no .*missing"):
        write_report(text, tmp_path / "missing" / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_page_is_not_made_for_a_place_that_cannot_have_it(text, tmp_path, monkeypatch):
    # By the module itself: the package has a function of the same name.
    module = importlib.import_module("haarbor.report._write_report")
    monkeypatch.setattr(module, "page_html", lambda *_: pytest.fail("made all the same"))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for place in ("pipe", "link", "."):
        with pytest.raises(StoreError, match=r"the report must be written to a file; .* is a"):
            write_report(text, tmp_path / place)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert (tmp_path / "link").is_symlink()


def test_a_page_goes_where_a_link_leads(text, page, tmp_path):
    (tmp_path / "link.html").symlink_to("report.html")
    write_report(text, tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
