"""Places that cannot be used: one line each, whatever is asked of them."""

import errno
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, import_arrays, load_results_file, open_run, save_results_file
from haarbor.store._array_files import arrays_in_file
from tests.store.runs import files_of, tiny_plan, write_run

USES = {
    "open": open_run,
    "create": lambda place: create_run(place, tiny_plan()),
    "import": lambda place: import_arrays(np.ones((2, 2, 1)), place),
    "read arrays": lambda place: arrays_in_file(place),
    "read results": load_results_file,
    "write results": lambda place: save_results_file({"a": 1}, place),
}
NOWHERE = {
    "empty": "",
    "a NUL": "run\0.npz",
    "half a character": "run\ud800.npz",
    "nothing": None,
    "a number": 5,
    "bytes": b"run.npz",
    "a list": ["run.npz"],
    "a file URL to nothing": "file://",
}


def refused(use, place):
    """The one line that is said."""
    with pytest.raises(StoreError) as caught:
        use(place)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 12_000
    text.encode()
    return text


@pytest.mark.parametrize("what", NOWHERE)
@pytest.mark.parametrize("use", USES)
def test_locations_that_are_none_are_refused(use, what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = refused(USES[use], NOWHERE[what])
    assert "must" in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("use", USES)
def test_a_path_that_is_too_long_is_refused(use, tmp_path):
    assert "too long" in refused(USES[use], tmp_path / ("x" * 300 + ".npz"))
    assert "too long" in refused(USES[use], str(tmp_path) + "/x" * 5000 + ".npz")


@pytest.mark.parametrize("use", USES)
def test_a_path_through_a_file_is_refused(use, tmp_path):
    (tmp_path / "file").write_text("text")
    refused(USES[use], tmp_path / "file" / "run.npz")


def test_a_name_of_two_lines_is_shown_in_one(tmp_path):
    place = tmp_path / "two\nlines\x1b[31m.zarr"
    assert "two\\nlines\\x1b[31m.zarr must be" in refused(open_run, place)
    write_run(place, tiny_plan(n_batches=1))
    (place / "decoder/mask/c.0.0.0").unlink()
    assert "lines" in refused(lambda place: open_run(place).mask(0), place)


@pytest.mark.parametrize(
    "url", ["memory://\ud800", "gopher-hole://x", "://", "s3:///", "http://", "http://[", "memory\0://"]
)
def test_urls_that_are_none_are_refused(url):
    refused(open_run, url)


def test_a_url_without_fsspec_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert refused(open_run, "s3://bucket/run.zarr") == (
        "a run at a URL needs the fsspec package, which is not installed. Run pip install 'haarbor[remote]'."
    )


def test_a_remote_library_that_fails_is_one_line(monkeypatch):
    from zarr.storage import MemoryStore

    class NoCredentialsError(Exception):
        pass

    async def failing(self, *arguments, **options):
        raise NoCredentialsError("Unable to locate credentials\nat all")

    write_run(store := MemoryStore(), tiny_plan(n_batches=1))
    run = open_run(store)
    monkeypatch.setattr(MemoryStore, "get", failing)
    assert "failed: Unable to locate credentials. " in refused(lambda _: run.tensor(0), store)


def test_a_store_that_can_only_be_read_is_read():
    from zarr.storage import MemoryStore

    class Published(MemoryStore):
        def with_read_only(self, read_only=False):
            raise NotImplementedError

    write_run(store := MemoryStore(), tiny_plan(n_batches=1))
    published = Published(store._store_dict, read_only=True)
    run = open_run(published)
    assert run.verify() == ()
    assert np.asarray(run.tensor(0)).any()
    assert "read-only" in refused(lambda _: run.save_result(1, "x"), published)


@contextmanager
def without_rights():
    """As a user whom permissions bind."""
    if os.name != "posix":
        pytest.skip("needs permissions")
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder():
    """A folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir():
            path.chmod(0o777)
    shutil.rmtree(folder)


def rights(place, folders, files):
    for path in sorted(place.rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(folders if path.is_dir() else files)
    place.chmod(folders)


@pytest.mark.parametrize("use", USES)
def test_a_parent_folder_that_may_not_be_entered_is_one_line(use, open_folder):
    inner = open_folder / "locked"
    inner.mkdir()
    write_run(inner / "run.npz", tiny_plan(n_batches=1))
    inner.chmod(0o000)
    with without_rights():
        text = refused(USES[use], inner / "run.npz")
    assert ": Permission denied. Change its permissions, or choose another place." in text


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


def test_a_full_disk_is_one_line_for_results_too(complete_run, monkeypatch):
    run = open_run(complete_run)
    run.save_result(np.arange(3), "x", batch=0)

    def full(self, *arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    assert "No space left on device. The disk is full" in refused(
        lambda _: run.save_result(np.arange(9), "x", batch=0), complete_run
    )
    monkeypatch.undo()
    assert not list(complete_run.rglob("*.partial"))
    assert not run.has_result("x", batch=0)
    run.save_result(np.arange(3), "x", batch=0)
    assert run.verify() == ()


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system without names")
def test_a_place_where_nothing_can_be_made_is_one_line():
    refused(lambda place: create_run(place, tiny_plan()), "/proc/run.zarr")
    refused(lambda place: create_run(place, tiny_plan()), "/dev/null/run.zarr")
    refused(open_run, "/dev/null")
