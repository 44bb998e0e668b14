"""Runs that are written once and copied for each test that spoils or extends them, and new places."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from haarbor.store import create_run, open_run
from tests.samples import causal_probabilities
from tests.store.builders import tiny_plan, write_run


@pytest.fixture(scope="session")
def written_once(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("written-once") / "run.zarr")


@pytest.fixture
def complete_run(written_once, tmp_path):
    return shutil.copytree(written_once, tmp_path / "run.zarr")


@pytest.fixture
def place(complete_run):
    return complete_run


@pytest.fixture
def run(place):
    return open_run(place)


@pytest.fixture
def new_place(tmp_path):
    return tmp_path / "run.zarr"


@pytest.fixture
def saved_run(place):
    """A complete run with one result."""
    run = open_run(place)
    run.save_result({"a": np.arange(30), "b": "text"}, "x", batch=0)
    return run


@pytest.fixture(scope="session")
def described_once(tmp_path_factory):
    """A complete run with pictures and a result, of which every description can be changed."""
    place = write_run(tmp_path_factory.mktemp("run") / "run.zarr", pictures=True)
    open_run(place).save_result({"heads": np.arange(6.0).reshape(2, 3)}, "scores", batch=0)
    return place


@pytest.fixture
def described_run(described_once, tmp_path):
    return shutil.copytree(described_once, tmp_path / "run.zarr")


@pytest.fixture
def attention(rng):
    """Batch, layer, head, query, key."""
    batches = [
        causal_probabilities(rng, 5, 6, np.float32).transpose(2, 0, 1).reshape(2, 3, 5, 5) for _ in "ab"
    ]
    return np.ascontiguousarray(np.stack(batches))  # safetensors scrambles other orders


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


@pytest.fixture
def writer(new_place):
    with create_run(new_place, tiny_plan(labels="none")) as writer:
        yield writer
