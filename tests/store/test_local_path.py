import numpy as np
import pytest

from haarbor.store import create_run, import_arrays, load_results_file, open_run, save_results_file
from haarbor.store._array_files import arrays_in_file
from tests.store.builders import refused, tiny_plan, without_rights, write_run

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
    for far in (str(tmp_path) + "/x" * 5000 + ".npz", "x" * 5000, "memory://" + "x" * 5000):
        text = refused(USES[use], far)
        assert "too long" in text
        assert len(text) < 200


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


@pytest.mark.parametrize("use", USES)
def test_a_parent_folder_that_may_not_be_entered_is_one_line(use, open_folder):
    inner = open_folder / "locked"
    inner.mkdir()
    write_run(inner / "run.npz", tiny_plan(n_batches=1))
    inner.chmod(0o000)
    with without_rights():
        text = refused(USES[use], inner / "run.npz")
    assert ": Permission denied. Change its permissions, or choose another place." in text
