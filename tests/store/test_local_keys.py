import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import (
    CHUNK,
    assert_same_files,
    files_of,
    refused,
    rights,
    tiny_plan,
    without_rights,
    write_batch,
    write_run,
)


def test_files_that_may_not_be_read_are_named_one_by_one(open_folder):
    place = write_run(open_folder / "run.zarr")
    rights(place, 0o755, 0o644)
    (place / "decoder/logits/c.1.1.0.0.0").chmod(0o000)
    (place / "batches/00002/zarr.json").chmod(0o000)
    with without_rights():
        run = open_run(place)
        assert "Permission denied" in refused(lambda _: np.asarray(run.tensor(1, "logits")), place)
        assert "Permission denied" in refused(lambda _: run.mask(2), place)
        found = run.verify()
    assert [(damage.batch, damage.content, damage.is_lost) for damage in found] == [
        (1, "logits", False),
        (2, "marker", False),
    ]


@pytest.mark.parametrize("folder", ["batches", "results", "decoder/logits", "."])
def test_folders_that_may_not_be_listed_are_one_line_and_never_empty(open_folder, folder):
    place = write_run(open_folder / "run.zarr")
    rights(place, 0o755, 0o644)
    (place / folder).chmod(0o000)

    def everything(place):
        run = open_run(place)
        if run.verify():
            raise StoreError("damaged: Permission denied")
        run.size_on_disk()

    with without_rights():
        assert "Permission denied" in refused(everything, place)


def test_a_run_that_may_only_be_read_is_read_and_not_written(open_folder):
    place = write_run(open_folder / "run.zarr")
    open_run(place).save_result({"a": np.arange(2)}, "x", batch=0)
    rights(place, 0o555, 0o444)
    before = files_of(place)
    with without_rights():
        run = open_run(place)
        assert run.verify() == ()
        assert run.load_result("x", batch=0)["a"].tolist() == [0, 1]
        for use in (
            lambda _: run.save_result(1, "y"),
            lambda _: run.delete_result("x", batch=0),
            lambda place: create_run(place, tiny_plan()),
            lambda place: create_run(place, tiny_plan(), repair=True),
            lambda place: create_run(place / "inner.zarr", tiny_plan()),
        ):
            assert "failed: Permission denied. Change its permissions" in refused(use, place)
    assert files_of(place) == before


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system without names")
def test_a_place_where_nothing_can_be_made_is_one_line():
    refused(lambda place: create_run(place, tiny_plan()), "/proc/run.zarr")
    refused(lambda place: create_run(place, tiny_plan()), "/dev/null/run.zarr")
    refused(open_run, "/dev/null")


pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and links")


def a_socket(path):
    """A socket of a short name, moved: their paths may only be about a hundred letters long."""
    with socket.socket(socket.AF_UNIX) as end:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            end.bind(path.name)
        finally:
            os.chdir(here)


STRANGE = {
    "a pipe": os.mkfifo,
    "a link to a pipe": lambda path: (os.mkfifo(path.with_name("pipe")), path.symlink_to("pipe")),
    "a socket": a_socket,
    "a link to an endless device": lambda path: path.symlink_to("/dev/zero"),
    "a link to a device without bytes": lambda path: path.symlink_to("/dev/null"),
    "a link to a file elsewhere": lambda path: path.symlink_to(sys.executable),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a folder": lambda path: path.mkdir(),
    "a file the system makes up": lambda path: path.symlink_to("/proc/self/maps"),
}


USES = {
    CHUNK: lambda run: np.asarray(run.tensor(1, "logits")),
    "decoder/mask/c.1.0.0": lambda run: run.mask(1),
    "decoder/logits/zarr.json": lambda run: run.tensor(1, "logits"),
    "batches/00001/zarr.json": lambda run: run.labels(1),
    "results/decoder/probabilities/batch-00001/x/zarr.json": lambda run: run.load_result("x", batch=1),
    "results/decoder/probabilities/batch-00001/x/a/c.0": lambda run: run.load_result("x", batch=1),
}


@pytest.mark.parametrize("what", STRANGE)
@pytest.mark.parametrize("path", USES)
def test_only_plain_files_inside_the_run_are_read(place, path, what):
    open_run(place).save_result({"a": np.arange(9)}, "x", batch=1)
    (place / path).unlink()
    STRANGE[what](place / path)
    with pytest.raises(StoreError) as caught:
        USES[path](open_run(place))
    assert "\n" not in str(caught.value)
    run = open_run(place)
    assert not run.has_result("x", batch=1) or path.startswith("decoder")
    # Something lies there, so the batch or the result has not merely been removed.
    assert run.verify() != ()
    assert run.batches == (0, 1, 2)


@pytest.mark.parametrize("what", STRANGE)
def test_a_strange_root_is_one_line(place, what):
    (place / "zarr.json").unlink()
    STRANGE[what](place / "zarr.json")
    with pytest.raises(StoreError, match=r"must|failed") as caught:
        open_run(place)
    assert "\n" not in str(caught.value)


def test_links_inside_the_run_are_followed(place):
    (place / CHUNK).rename(place / "decoder/elsewhere")
    (place / CHUNK).symlink_to("../elsewhere")
    run = open_run(place)
    assert run.verify() == ()
    assert np.isfinite(np.asarray(run.tensor(1, "logits"))).all()


def test_the_run_itself_may_be_behind_a_link(place, tmp_path):
    (tmp_path / "link").symlink_to(place)
    run = open_run(tmp_path / "link")
    assert run.verify() == ()
    run.save_result(1, "x")
    with create_run(tmp_path / "link", tiny_plan()) as writer:
        writer.discard(1)
        write_batch(writer, 1)
    assert open_run(place).verify() == ()


def test_a_folder_behind_a_link_out_of_the_run_is_refused_and_nothing_there_is_touched(place, tmp_path):
    shutil.move(place / "decoder/logits", tmp_path / "outside")
    (place / "decoder/logits").symlink_to(tmp_path / "outside")
    before = files_of(tmp_path / "outside")
    with pytest.raises(
        StoreError, match=r"the files of a run must lie inside it; .* is behind a link to .*outside"
    ):
        open_run(place).tensor(1, "logits")
    assert not open_run(place).verify()[0].is_lost
    for options in ({}, {"repair": True}):
        with pytest.raises(StoreError, match="must lie inside it"):
            create_run(place, tiny_plan(), **options)
    assert files_of(tmp_path / "outside") == before


def test_repair_replaces_pipes_and_folders_in_place_of_chunks(place, written_once):
    (place / CHUNK).unlink()
    os.mkfifo(place / CHUNK)
    (place / "decoder/mask/c.2.0.0").unlink()
    (place / "decoder/mask/c.2.0.0").mkdir()
    for described in ("decoder", "decoder/probabilities"):
        (place / described / "zarr.json").unlink()
        os.mkfifo(place / described / "zarr.json")
    with pytest.raises(StoreError, match="its description is damaged: it is no plain file"):
        create_run(place, tiny_plan())
    with create_run(place, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == (1, 2)
        for batch in writer.missing_batches:
            write_batch(writer, batch)
    assert_same_files(place, written_once)


@pytest.mark.parametrize("inside", [(), ("stray",)], ids=["empty", "full"])
def test_a_folder_in_place_of_a_marker_is_damage_and_repaired(place, written_once, inside):
    marker = place / "batches/00001/zarr.json"
    marker.unlink()
    marker.mkdir()
    for name in inside:
        (marker / name).write_text("stray")
    with pytest.raises(StoreError, match=r"the marker of batch 1 .* must be readable; it is a folder\. Open"):
        open_run(place).tensor(1)
    [damage] = open_run(place).verify()
    assert (damage.batch, damage.content, damage.is_lost) == (1, "marker", True)
    with create_run(place, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == (1,)
        write_batch(writer, 1)
    assert_same_files(place, written_once)


def test_what_cannot_be_read_is_not_repaired_away(place, monkeypatch):
    from haarbor.store._local_keys import LocalKeys

    read = LocalKeys.read

    def failing(self, key, most_bytes):
        if key == CHUNK:
            raise StoreError("reading it failed: Input/output error.")
        return read(self, key, most_bytes)

    before = files_of(place)
    monkeypatch.setattr(LocalKeys, "read", failing)
    [damage] = open_run(place).verify()
    assert not damage.is_lost
    with pytest.raises(StoreError, match=r"repaired only where all of it can be read; .*Input/output error"):
        create_run(place, tiny_plan(), repair=True)
    monkeypatch.undo()
    assert files_of(place) == before


def test_writing_never_goes_through_a_link_or_a_pipe(place, tmp_path):
    (tmp_path / "precious").write_text("precious")
    group = place / "results/decoder/probabilities/batch-00000/x"
    group.mkdir(parents=True)
    (group / "zarr.json").symlink_to(tmp_path / "precious")
    (group / "zarr.json.partial").symlink_to(tmp_path / "precious")
    (place / ".results.lock").symlink_to(tmp_path / "precious")
    run = open_run(place)
    with pytest.raises(StoreError, match="for writing failed"):
        run.save_result(1, "x", batch=0)
    (place / ".results.lock").unlink()
    os.mkfifo(place / ".results.lock")
    with pytest.raises(StoreError, match=r"must be a plain file; .*results.lock is none. Remove it"):
        run.save_result(1, "x", batch=0)
    (place / ".results.lock").unlink()
    run.save_result(1, "x", batch=0)
    assert run.load_result("x", batch=0) == 1
    assert (tmp_path / "precious").read_text() == "precious"


def test_an_endless_device_takes_neither_time_nor_memory(place):
    (place / CHUNK).unlink()
    (place / CHUNK).symlink_to("/dev/zero")
    code = (
        "import resource, sys, numpy as np; from haarbor.store import open_run\n"
        "run = open_run(sys.argv[1])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(len(run.verify()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout == "1 True\n"
