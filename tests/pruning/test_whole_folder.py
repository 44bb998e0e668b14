"""Folders are written completely or not at all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from haarbor.errors import HaarborError, StoreError
from haarbor.pruning import prune_heads, save_pruned
from haarbor.pruning._whole_folder import folder_place, whole_folder
from tests.pruning.builders import everything, files_of_at_most


def written(target, text):
    with whole_folder(target) as unfinished:
        (unfinished / "pruned.json").write_text(text)
        (unfinished / "tokenizer").mkdir()
        (unfinished / "tokenizer" / "words.txt").write_text(text)


def half_written(target, error):
    with whole_folder(target) as unfinished:
        (unfinished / "pruned.json").write_text("half")
        raise error


def test_the_folder_appears_whole(tmp_path):
    target = tmp_path / "new" / "model"
    with whole_folder(target) as unfinished:
        (unfinished / "pruned.json").write_text("all of it")
        assert not target.exists()
        assert unfinished.parent == target.parent
    assert (target / "pruned.json").read_text() == "all of it"
    assert [path.name for path in target.parent.iterdir()] == ["model"]


def test_an_earlier_network_is_replaced_whole(tmp_path):
    written(tmp_path / "model", "one")
    (tmp_path / "model" / "old.txt").write_text("left over")
    written(tmp_path / "model", "two")
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert names == ["model", "model/pruned.json", "model/tokenizer", "model/tokenizer/words.txt"]
    assert (tmp_path / "model" / "tokenizer" / "words.txt").read_text() == "two"


@pytest.mark.parametrize("earlier", [False, True])
def test_what_fails_leaves_what_was_there(earlier, tmp_path):
    if earlier:
        written(tmp_path / "model", "one")
    for error, expected in (
        (OSError(28, "No space left on device"), StoreError),
        (Exception("No space left on device (os error 28)"), StoreError),  # as tokenizers say it
        (KeyboardInterrupt(), KeyboardInterrupt),
        (ValueError("a bug"), ValueError),
    ):
        with pytest.raises(expected):
            half_written(tmp_path / "model", error)
    assert [path.name for path in tmp_path.iterdir()] == (["model"] if earlier else [])
    if earlier:
        assert (tmp_path / "model" / "pruned.json").read_text() == "one"


def test_a_folder_that_cannot_take_its_place_leaves_the_earlier_one(tmp_path, monkeypatch):
    written(tmp_path / "model", "one")
    plain = Path.rename

    def rename(path, target):
        if Path(target).name == "model" and (path / "pruned.json").read_text() == "two":
            raise OSError(5, "Input/output error")
        return plain(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(StoreError, match="Input/output error"):
        written(tmp_path / "model", "two")
    assert (tmp_path / "model" / "pruned.json").read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_everything_is_on_the_disk_before_the_folder_takes_its_place(tmp_path, monkeypatch):
    events = []
    plain_sync, plain_rename = os.fsync, Path.rename

    def sync(opened):
        events.append(Path(f"/proc/self/fd/{opened}").readlink().name)
        plain_sync(opened)

    def rename(path, target):
        events.append("in place")
        return plain_rename(path, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", rename)
    written(tmp_path / "model", "one")
    before = events[: events.index("in place")]
    assert {"pruned.json", "words.txt", "tokenizer"} <= set(before)
    assert events[events.index("in place") + 1 :] == [tmp_path.name]


def test_a_full_disk_is_one_line_and_found_before_the_work(tmp_path):
    with (
        files_of_at_most(100),
        pytest.raises(StoreError, match="File too large") as refused,
    ):
        folder_place(tmp_path / "model")
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_weights_that_do_not_fit_on_the_disk_leave_nothing(tmp_path):
    """The error of safetensors is one of its own, and no OSError."""
    model, heads, data, removed = everything("zoo-vit")
    smaller = prune_heads(model, heads, removed, batch=data[0])
    with files_of_at_most(20_000), pytest.raises(StoreError, match="a network must be writable") as refused:
        save_pruned(tmp_path / "model", smaller, heads, removed)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_have_a_folder_are_one_line(tmp_path):
    (tmp_path / "file").write_text("kept")
    os.mkfifo(tmp_path / "pipe")
    for place in (
        tmp_path / "file",
        tmp_path / "file" / "below",
        tmp_path / "pipe",
        "/proc/self/model",
        "",
        None,
        7,
    ):
        with pytest.raises(HaarborError) as refused:
            folder_place(place)
        assert "\n" not in str(refused.value)
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.slow
def test_a_network_that_is_killed_while_written_is_there_whole_or_not_at_all(tmp_path):
    script = Path(__file__).with_name("killed_writing.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # The last of each is the one that lived to the end.
    assert len(found["new"]) > 10
    assert set(found["new"]) == {"nothing", 2}
    assert found["new"][-1] == 2
    assert set(found["earlier"]) <= {"nothing", 1, 2}
    assert {1, 2} <= set(found["earlier"])
    assert found["earlier"][-1] == 2
