import errno
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import RunPlan, StreamPlan, create_run, open_run
from tests.store.builders import assert_same_files, files_of, tiny_plan, write_batch, write_run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")


def killed_writers(*arguments):
    return [sys.executable, "-W", "error", "-m", "tests.store.killed_writers", *map(str, arguments)]


def assert_survives_kills(folder, step, least):
    done = subprocess.run(killed_writers("all", folder, step), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == ["fixed", "growing"]
    for _, n_operations, kills in lines:
        assert int(n_operations) > 40
        assert int(kills) >= least


@pytest.mark.slow
def test_a_run_killed_at_every_tenth_file_operation_ends_as_one_that_was_not(tmp_path):
    # Every single one, and many more commands, are killed by the campaign of faults.
    assert_survives_kills(tmp_path, step=10, least=6)


@pytest.mark.slow
def test_a_run_killed_from_outside_at_random_moments_ends_as_one_that_was_not(tmp_path):
    place = tmp_path / "killed.zarr"
    moments = np.random.default_rng().uniform(0, 0.35, size=4)
    for moment in moments:
        with subprocess.Popen(killed_writers("slowly", place), stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout.readline() == "ready\n"
            time.sleep(moment)
            writer.kill()
        if place.exists() and (place / "zarr.json").exists():
            run = open_run(place)
            assert run.verify() == ()  # what is seen is whole
    write_run(place, tiny_plan(n_batches=4), pictures=True)
    write_run(tmp_path / "straight.zarr", tiny_plan(n_batches=4), pictures=True)
    assert_same_files(place, tmp_path / "straight.zarr")


@contextmanager
def small_disk(folder, n_bytes):
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_batches_before_it_and_the_run_goes_on_when_there_is_space(tmp_path):
    # Random numbers do not compress: a batch takes about 4 x 64 x 64 x 2 layers x 4 bytes = 131 kB.
    stream = StreamPlan(name="decoder", n_layers=2, n_heads=4, n_queries=64, n_keys=64)
    plan = RunPlan(model="noise", streams=(stream,), n_batches=12)

    def write_all(writer):
        for index in writer.missing_batches:
            with writer.batch(index) as batch:
                rng = np.random.default_rng(index)
                batch.write_mask(None, np.ones((64, 64), dtype=bool))
                for layer in range(2):
                    batch.write_layer(None, layer, {"probabilities": rng.random((4, 64, 64))})

    with small_disk(tmp_path / "disk", 1_000_000) as disk:
        with pytest.raises(StoreError, match=r"may need 1.622 MB and has 1.004 MB free"):
            create_run(disk / "run.zarr", plan)
        with create_run(disk / "run.zarr", plan, check_space=False) as writer:
            with pytest.raises(
                StoreError, match=r"writing .* failed: No space left on device. The disk is full"
            ) as e:
                write_all(writer)
            assert e.value.errno == errno.ENOSPC
            assert "\n" not in str(e.value)
            complete = writer.complete_batches
        assert len(complete) >= 4
        run = open_run(disk / "run.zarr")
        assert run.batches == complete
        assert run.verify() == ()
        subprocess.run(["mount", "-o", "remount,size=8000000", str(disk)], check=True)
        with create_run(disk / "run.zarr", plan) as writer:
            assert writer.complete_batches == complete
            write_all(writer)
        with create_run(tmp_path / "straight.zarr", plan) as writer:
            write_all(writer)
        assert_same_files(disk / "run.zarr", tmp_path / "straight.zarr")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_leaves_the_batch_absent(tmp_path, monkeypatch, number):
    from pathlib import Path

    place = write_run(tmp_path / "run.zarr", batches=(0,))
    before = files_of(place)
    replace = Path.replace

    def failing(self, target):
        if "c.1.1." in str(target):
            raise OSError(number, os.strerror(number))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with create_run(place, tiny_plan()) as writer:
        with pytest.raises(StoreError, match=r"writing .*decoder/probabilities/c\.1\.1\.0\.0\.0 failed: "):
            write_batch(writer, 1)
        assert writer.complete_batches == (0,)
    assert files_of(place) == before


def test_a_folder_that_may_not_be_written_is_a_store_error(tmp_path, monkeypatch):
    from pathlib import Path

    def refusing(self, *arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refusing)
    with pytest.raises(StoreError, match=r"for writing failed: Permission denied. Change its permissions"):
        create_run(tmp_path / "run.zarr", tiny_plan())
