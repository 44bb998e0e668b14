"""Failures that are the user's circumstances, in one line."""

import json
import tempfile

import pytest

from haarbor.cli._failure_line import failure_line


def test_no_place_for_temporary_files_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "nowhere")])
    with pytest.raises(FileNotFoundError) as raised:
        tempfile._get_default_tempdir()
    assert failure_line(raised.value).endswith("Set TMPDIR to a folder that can be written.")


def test_json_that_is_nested_too_deeply_is_the_files_fault():
    with pytest.raises(RecursionError) as raised:
        json.loads("[" * 100_000)
    assert "nested" in failure_line(raised.value)
