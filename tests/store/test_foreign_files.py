import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import tiny_plan, write_batch

FOREIGN = (
    ".DS_Store",
    "._zarr.json",
    "Thumbs.db",
    "desktop.ini",
    "zarr.json~",
    ".zarr.json.swp",
    "#zarr.json#",
    ".nfs00ab",
)


def litter(place):
    """Leave what file managers and editors leave, in every folder."""
    for folder in [place, *(path for path in place.rglob("*") if path.is_dir())]:
        for name in FOREIGN:
            (folder / name).write_bytes(b"\0\1 not of the run")


def test_foreign_files_are_passed_over(place):
    run = open_run(place)
    run.save_result({"a": np.arange(3)}, "x", batch=1)
    run.save_result({"a": np.arange(3)}, "y")
    size = run.size_on_disk()
    litter(place)
    (place / "batches/.DS_Store.d").mkdir()
    run = open_run(place)
    assert run.batches == (0, 1, 2)
    assert run.verify() == ()
    assert run.has_result("x", batch=1)
    assert run.load_result("x", batch=1)["a"].tolist() == [0, 1, 2]
    assert [found.name for found in run.results()] == ["y", "x"]
    assert run.size_on_disk() == size
    with create_run(place, tiny_plan(), repair=True) as writer:
        assert writer.missing_batches == ()
        writer.discard(1)
        write_batch(writer, 1)
    run.save_result(5, "x", batch=1)
    assert run.load_result("x", batch=1) == 5
    assert (place / ".DS_Store").exists()
    assert run.verify() == ()


def test_folders_among_the_results_that_are_none_are_passed_over(place):
    run = open_run(place)
    run.save_result(1, "x", batch=0)
    ours = "decoder/probabilities"
    for path in ("x/y/batch-abc/z", "decoder/x/y/z", f"{ours}/batch-abc/z", f"{ours}/batch-7/z",
                 f"{ours}/all/z", f"{ours}/batch-00001/a b"):  # fmt: skip
        folder = place / "results" / path
        folder.mkdir(parents=True)
        (folder / "zarr.json").write_text("{}")
        (folder.parent / "notes.txt").write_text("mine")
    assert [found.name for found in run.results()] == ["x"]
    assert run.verify() == ()


def test_a_folder_of_foreign_files_alone_is_empty(tmp_path):
    place = tmp_path / "run.zarr"
    place.mkdir()
    for name in FOREIGN:
        (place / name).write_bytes(b"x")
    with pytest.raises(StoreError, match="it is a file, or an empty folder"):
        open_run(place)
    create_run(place, tiny_plan()).close()
    assert open_run(place).batches == ()


@pytest.mark.parametrize("name", [".git", ".env", "cat.png", "notes.swp.txt"])
def test_other_files_are_somebody_s(tmp_path, name):
    place = tmp_path / "run.zarr"
    place.mkdir()
    (place / name).write_bytes(b"x")
    with pytest.raises(StoreError, match=r"and no run\. Choose another place"):
        create_run(place, tiny_plan())
