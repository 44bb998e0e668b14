"""Paths that haarbor capture refuses, in one line, and before anything slow begins."""

import os
import sys

import pytest

from haarbor.cli._capture_paths import require_data, require_model, require_place
from haarbor.errors import CaptureError, HaarborError, StoreError
from tests.cli.builders import captured


@pytest.fixture
def no_models(monkeypatch):
    """Importing what loads models fails the test."""
    for name in [name for name in sys.modules if name.startswith(("haarbor.capturing", "haarbor.zoo"))]:
        monkeypatch.delitem(sys.modules, name)

    class Refuse:
        def find_spec(self, name, path=None, target=None):
            assert name.split(".")[0] not in ("torch", "transformers"), f"{name} was imported"
            assert not name.startswith(("haarbor.capturing", "haarbor.zoo")), f"{name} was imported"

    monkeypatch.setattr(sys, "meta_path", [Refuse(), *sys.meta_path])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    (tmp_path / "book.txt").write_text("the cat")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("x")
    return tmp_path


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("model", "data", "out", "message"),
    [
        ("./none", "book.txt", "run", "there is no model at ./none"),
        ("/none/at/all", "book.txt", "run", "there is no model at /none/at/all"),
        ("none.gguf", "book.txt", "run", "there is no model at none.gguf"),
        ("book.txt", "book.txt", "run", "book.txt is another kind of file"),
        ("empty", "book.txt", "run", "empty must be the folder of a model; it holds neither config.json nor"),
        ("", "book.txt", "run", "a model must be given by its path; found ''"),
        ("a\0b", "book.txt", "run", "a model must be given by a path that can be looked at"),
        (LONG, "book.txt", "run", "File name too long"),
        ("\ud800", "book.txt", "run", "a model must be given by a path that can be looked at"),
        ("~nobody-has-this-name/x", "book.txt", "run", "a model must be given by a path that can be"),
        ("model", "missing.txt", "run", "there is no missing.txt"),
        ("model", "book.txt/inner", "run", "there is no book.txt/inner"),
        ("model", "", "run", "data must be given by its path; found ''"),
        ("model", "a\0b", "run", "data must be given by a path that can be looked at"),
        ("model", LONG, "run", "File name too long"),
        ("model", "book.txt", "", "a run must be given by its path; found ''"),
        ("model", "book.txt", "a\0b", "a run must be given by a path that can be looked at"),
        ("model", "book.txt", LONG, "File name too long"),
        ("model", "book.txt", "book.txt", "a run must be a folder; it is a file"),
        ("model", "book.txt", "book.txt/run", "book.txt on the way to it is a file"),
        ("model", "book.txt", "letters", "it holds 'a.txt' and no run"),
        ("model", "book.txt", ".", "must be a Haarbor run or empty"),
    ],
)  # fmt: skip
def test_paths_are_refused_before_the_model_is_loaded(place, no_models, model, data, out, message):
    code, lines = captured(model, "--data", data, "--out", out)
    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith("haarbor: ")
    assert message in lines[0]
    assert len(lines[0]) < 400


def test_what_lies_elsewhere_is_not_looked_up(place):
    for model in ("zoo:transformer-xl", "timm:vit", "org/name", "name", "model"):
        require_model(model)
    for data in ("random", "zoo", "hub:anything:test", "book.txt", "letters"):
        require_data(data)
    for out in ("s3://bucket/run.zarr", "memory://x", "new/folder/run.zarr", "empty"):
        require_place(out)


def test_what_may_not_be_read_or_written_is_refused(place, monkeypatch):
    """As another user would find it: whoever runs the tests may be allowed everything."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(CaptureError, match="model must be readable; this user has no permission"):
        require_model("model")
    with pytest.raises(CaptureError, match=r"book.txt must be readable; this user has no permission"):
        require_data("book.txt")
    with pytest.raises(StoreError, match="must be written to a folder that may be changed"):
        require_place("new/run")


def test_a_folder_that_may_not_be_looked_into_is_one_line(place, monkeypatch):
    import pathlib

    def closed(self, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "stat", closed)
    for require in (require_model, require_data, require_place):
        with pytest.raises(HaarborError, match=r"'letters/a.txt' cannot: Permission denied"):
            require("letters/a.txt")


@pytest.mark.parametrize("left", ["zarr.json.partial", "run.lock", ".DS_Store"])
def test_what_a_writer_left_that_was_stopped_at_once_may_be_written_over(tmp_path, left):
    (tmp_path / left).touch()
    require_place(str(tmp_path))
