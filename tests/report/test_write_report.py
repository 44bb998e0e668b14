"""The report of a run, or of two: what is reported, refused and written."""

import importlib
import json
import os
import shutil
import stat

import pytest

from haarbor.errors import SettingError, StoreError
from haarbor.report import report_html, write_report
from haarbor.store import open_run
from tests.report.reading import page_data
from tests.report.runs import logits_run, text_run


def test_the_same_run_gives_the_same_bytes_wherever_it_lies(text, page, tmp_path):
    assert report_html(text) == page
    copy = shutil.copytree(text.location, tmp_path / "text.zarr")
    assert report_html(open_run(copy)) == page
    assert str(tmp_path) not in page
    assert "/tmp" not in json.dumps(page_data(page))


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


def test_other_choices_are_refused(text):
    with pytest.raises(SettingError, match="one run or of two; found 3"):
        report_html([text, text, text])
    with pytest.raises(SettingError, match="one run or of two; found 0"):
        report_html([])
    for wrong in (0, 1.5, "2", True, [1]):
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
