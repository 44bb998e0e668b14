import os

import pytest

from haarbor.errors import CaptureError, StoreError
from haarbor.named_path import named_path, require_run_place


def test_a_path_need_not_exist_and_the_home_folder_is_filled_in(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert named_path("~/absent.txt", "a text file") == tmp_path / "absent.txt"
    (tmp_path / "file").touch()
    assert named_path(tmp_path / "file", "a text file") == tmp_path / "file"
    # A file on the way to it: nothing is there, which is for the caller to say.
    assert named_path(tmp_path / "file" / "inner", "a text file") == tmp_path / "file" / "inner"


@pytest.mark.parametrize("value", [None, 3, b"x", "", "  ", ["x"]])
def test_what_is_no_path_is_refused(value):
    message = r"^a text file must be given by its path; found .*\. Check the path\.$"
    with pytest.raises(CaptureError, match=message):
        named_path(value, "a text file")


@pytest.mark.parametrize("value", ["a\0b", "x" * 5000, "\ud800"])
def test_paths_that_cannot_be_looked_at_are_refused_in_one_short_line(value):
    with pytest.raises(CaptureError, match=r"a path that can be looked at; .* cannot: ") as caught:
        named_path(value, "a text file")
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(CaptureError, match="a path that can be looked at"):
        named_path(tmp_path / "one", "a text file")


def test_a_run_may_stand_in_a_new_folder_or_at_an_address(tmp_path):
    require_run_place(tmp_path / "new" / "run.zarr")
    require_run_place(tmp_path)
    require_run_place("s3://bucket/run.zarr")


def test_places_that_no_run_can_be_written_to_are_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="a run must be a folder; it is a file"):
        require_run_place(tmp_path / "file")
    with pytest.raises(StoreError, match=r"a run must be a folder; .*file on the way to it is a file"):
        require_run_place(tmp_path / "file" / "run.zarr")
    with pytest.raises(StoreError, match="a run must be given by its path; found None"):
        require_run_place(None)


def test_a_folder_that_may_not_be_changed_is_refused(tmp_path, monkeypatch):
    # Asked of the system, because nothing is closed to root.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(StoreError, match=r"written to a folder that may be changed; .* may not\. Choose"):
        require_run_place(tmp_path / "run.zarr")
