"""What must be JSON beside a model's weights, and may come from anywhere."""

import os
from pathlib import Path

import pytest

import haarbor as hb
from haarbor.zoo import _json_file as json_file
from haarbor.zoo._json_file import json_object


def test_an_object_is_read(tmp_path):
    (tmp_path / "a.json").write_text('{"kind": "x"}')
    assert json_object(tmp_path / "a.json") == {"kind": "x"}


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000, "\udce9", ""])
def test_what_is_none_is_refused_in_one_line(text, tmp_path):
    (tmp_path / "a.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(hb.CaptureError, match=r"^a\.json must be [^\n]*anew\.$"):
        json_object(tmp_path / "a.json")


def test_no_device_and_no_pipe_is_read(tmp_path):
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("zero.json", "pipe.json"):
        with pytest.raises(hb.CaptureError, match="no plain file"):
            json_object(tmp_path / name)


def test_a_file_too_large_is_not_read(tmp_path, monkeypatch):
    place = tmp_path / "a.json"
    place.write_text("{}")
    os.truncate(place, json_file._MOST_BYTES + 1)
    monkeypatch.setattr(Path, "read_text", lambda *args, **options: pytest.fail("it was read"))
    with pytest.raises(hb.CaptureError, match="at most 100 MB"):
        json_object(place)
