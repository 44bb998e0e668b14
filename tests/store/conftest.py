"""A complete run, written once and copied for each test that spoils or extends it."""

import shutil

import pytest

from tests.store.runs import write_run


@pytest.fixture(scope="session")
def written_once(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("written-once") / "run.zarr")


@pytest.fixture
def complete_run(written_once, tmp_path):
    return shutil.copytree(written_once, tmp_path / "run.zarr")
