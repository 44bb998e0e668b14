"""haarbor look, as a user types it."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import haarbor as hb
from haarbor.cli._look_command import _prune_words, _short_name


@pytest.fixture
def here(begun, tmp_path, monkeypatch):
    """Words of a look at a small model, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return ["look", begun / "tiny", "--data", begun / "book.txt", "--tokens", "6", "--batches", "2"]


def test_one_command_leaves_a_page_and_the_run_beside_it(command, here):
    done = command(*here, "-o", "page.html")
    assert done.code == 0, done.err
    assert done.err.startswith("Loading ")
    assert "page  page.html" in done.out
    assert "run   page.zarr" in done.out
    assert "Next: haarbor figures page.zarr" in done.out
    assert "tiny" in Path("page.html").read_text(encoding="utf-8")
    run = hb.open_run("page.zarr")
    assert run.n_batches == 2
    assert run.has_result("consensus")
    first = Path("page.html").read_bytes()
    done = command(*here, "-o", "page.html", "--json")
    assert done.code == 0, done.err
    assert "Going on: 2 of 2 batches are complete." in done.err
    found = json.loads(done.out)
    assert (found["report"], found["run"], found["batches_reused"]) == ("page.html", "page.zarr", 2)
    assert Path("page.html").read_bytes() == first


def test_a_run_that_was_begun_is_continued_and_another_is_refused(command, here, begun):
    assert command(*here).code == 0
    assert Path("tiny.html").exists()
    kept = Path("tiny.html").read_bytes()
    done = command(*here[:-1], "3")
    assert done.code == 1
    assert "begun with --batches 2, and this is with --batches 3. Use the same, or choose anoth" in done.line
    done = command("look", begun / "other", *here[2:], "-o", "tiny.html")
    assert done.code == 1
    assert Path("tiny.html").read_bytes() == kept


def test_without_data_the_texts_in_the_package_are_read(command, here, begun):
    done = command("look", begun / "tiny", "--batches", "1", "--tokens", "6")
    assert done.code == 0, done.err
    assert "Data: the text in the package; --data DATA takes your own." in done.err
    assert hb.open_run("tiny.zarr").plan.settings["data"].startswith("wikitext2_sample.txt")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nowhere/at/all",), 1, "there is no model at nowhere/at/all. Check the path."),
        (("zoo:transformer",), 1, "must be zoo:transformer-xl or zoo:vision-transformer; found zoo:tr"),
        (("zoo:transformer-xl", "--data", "no.txt"), 1, "--data must be a path, hub:NAME, zoo or random"),
        (("zoo:transformer-xl", "--target", "no.txt"), 1, "--target must be a path, hub:NAME, zoo or random"),
        (("zoo:transformer-xl", "-o", "no/page.html"), 2, "the folder no does not exist"),
        (("zoo:transformer-xl", "-o", "page.zarr"), 2, "must be the page, such as page.html"),
        (("zoo:transformer-xl", "--groups", "x"), 2, "must be refuse or heads"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_a_model_is_loaded(refused, monkeypatch, words, code, message):
    def load(*_words, **_options):
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("haarbor.capturing.load_model", load)
    done = refused("look", *words)
    assert done.code == code
    assert message in " ".join(done.err.split())
    assert "Loading" not in done.err


@pytest.mark.parametrize(
    ("model", "name"),
    [("zoo:transformer-xl", "transformer-xl"), ("org/name", "name"), ("a/b/c/", "c"), ("x/m.gguf", "m"),
     ("timm:vit_tiny", "vit_tiny")],
)  # fmt: skip
def test_the_page_is_named_after_the_model(model, name):
    assert _short_name(model) == name


def test_the_folder_one_is_in_has_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _short_name(".") == tmp_path.name


def test_the_command_that_prunes_is_one_that_can_be_typed():
    assert (
        _prune_words("zoo:transformer-xl", None, None, False) == "haarbor prune zoo:transformer-xl --data zoo"
    )
    words = _prune_words("my nets/small", "a b.txt", "small.Q4_1.gguf", True)
    assert words == "haarbor prune 'my nets/small' --data 'a b.txt' --gguf small.Q4_1.gguf --lines"
