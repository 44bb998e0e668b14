"""A run is continued with the options it was begun with, or the one that differs is named."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.cli.builders import capture_words, captured


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (capture_words("tiny", tokens=8), "begun with --tokens 6, and this is with --tokens 8"),
        (capture_words("tiny", batches=5), "begun with --batches 3, and this is with --batches 5"),
        (capture_words("tiny", "--logits"), "begun with --no-logits, and this is with --logits"),
        (capture_words("tiny", "--lines"), "begun with --no-lines, and this is with --lines"),
        (
            capture_words("tiny", "--dtype", "float16"),
            "begun with --dtype float32, and this is with --dtype float16",
        ),
        (
            capture_words("tiny", "--mode", "transparent"),
            "begun with --mode faithful, and this is with --mode transp",
        ),
        (capture_words("tiny", "--seed", "7"), "begun with --seed 0, and this is with --seed 7"),
        (capture_words("tiny", data="letter.txt"), "begun with --data that is 'book.txt, "),
        (
            capture_words("tiny", "--generate", "2"),
            "begun with no --generate, and this is with --generate 2",
        ),
        (capture_words("other"), "begun with the model tiny, and this is with the model other"),
    ],
    ids=["tokens", "batches", "logits", "lines", "dtype", "mode", "seed", "data", "generate", "model"],
)
def test_what_differs_is_named_by_its_option(again, command, message):
    before = sorted(Path("run.zarr").iterdir())
    code, lines = again(*command)
    assert code == 1
    (line,) = [line for line in lines if line.startswith("haarbor: ")]
    assert message in line
    assert line.endswith("Use the same, or choose another --out.")
    assert "streams" not in line
    assert sorted(Path("run.zarr").iterdir()) == before


def test_another_text_under_the_same_name_is_refused(again):
    shutil.copyfile("letter.txt", "book.txt")
    code, lines = again(*capture_words("tiny"))
    assert code == 1
    (line,) = [line for line in lines if line.startswith("haarbor: ")]
    assert "begun with --data whose content is sha256:" in line


def test_memory_is_named_where_it_differs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = capture_words("zoo:transformer-xl", data="zoo", tokens=128, batches=2)
    code, lines = captured(*command)
    assert code == 0, lines
    code, lines = captured(*command, "--memory")
    assert code == 1
    assert "begun with --no-memory, and this is with --memory" in lines[-1]
