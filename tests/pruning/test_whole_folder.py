"""Folders are written completely or not at all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from haarbor.errors import HaarborError, StoreError
from haarbor.pruning import _whole_folder as module
from haarbor.pruning import load_pruned, n_parameters, prune_heads, save_pruned
from haarbor.pruning._whole_folder import folder_place, found_folder, whole_folder
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


@pytest.fixture(params=["in one step", "in two steps"])
def steps(request, monkeypatch):
    """Systems that can exchange two folders, and those that cannot."""
    if request.param == "in two steps":
        monkeypatch.setattr(module, "exchanged_folders", lambda first, second: False)


def which(target):
    """The text of the network that is found; None if it is not whole."""
    folder = found_folder(target)
    texts = {path.read_text() for path in (folder / "pruned.json", folder / "tokenizer" / "words.txt")}
    return texts.pop() if len(texts) == 1 else None


@pytest.mark.usefixtures("steps")
def test_at_every_moment_the_earlier_network_or_the_new_one_is_found_whole(tmp_path):
    target, seen = tmp_path / "model", []
    written(target, "one")

    def look(frame, _event, _argument):
        if frame.f_code.co_filename != module.__file__:
            return None
        seen.append(which(target))
        return look

    traced = sys.gettrace()
    sys.settrace(look)
    try:
        written(target, "two")
    finally:
        sys.settrace(traced)
    assert len(seen) > 50
    assert seen == sorted(seen)
    assert set(seen) == {"one", "two"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems exchange no folders")
def test_a_network_is_replaced_in_one_step_where_the_system_can(tmp_path, monkeypatch):
    written(tmp_path / "model", "one")
    monkeypatch.setattr(Path, "rename", lambda path, target: pytest.fail("two steps"))
    written(tmp_path / "model", "two")
    assert which(tmp_path / "model") == "two"


def killed_between_two_steps(target, text):
    child = os.fork()
    if child == 0:
        plain = Path.rename
        Path.rename = lambda path, place: (plain(path, place), os._exit(9))
        module.exchanged_folders = lambda first, second: False
        try:
            written(target, text)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not target.exists()


def test_an_earlier_network_is_found_and_put_back_after_a_kill_between_two_steps(tmp_path):
    target = tmp_path / "model"
    written(target, "one")
    killed_between_two_steps(target, "two")
    assert which(target) == "one"
    with pytest.raises(ValueError, match="a bug"):
        half_written(target, ValueError("a bug"))
    assert which(target) == "one"
    assert target.is_dir()
    killed_between_two_steps(target, "two")
    written(target, "three")
    assert which(target) == "three"
    assert not list(tmp_path.glob("*.earlier"))


def test_a_pruned_network_is_loaded_after_a_kill_between_two_steps(tmp_path):
    model, heads, data, removed = everything("zoo-vit")
    save_pruned(tmp_path / "model", prune_heads(model, heads, removed, batch=data[0]), heads, removed)
    killed_between_two_steps(tmp_path / "model", "two")
    assert n_parameters(load_pruned(tmp_path / "model")) < n_parameters(model)


def test_a_folder_that_cannot_take_its_place_leaves_the_earlier_one(tmp_path, monkeypatch):
    written(tmp_path / "model", "one")
    monkeypatch.setattr(module, "exchanged_folders", lambda first, second: False)
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
    assert set(found["earlier"]) == {1, 2}
    assert found["earlier"][-1] == 2
