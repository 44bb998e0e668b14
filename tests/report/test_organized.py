"""Whether a run holds what a page needs."""

import shutil

import pytest

from haarbor.report._organized import is_organized, missing_result
from haarbor.store import import_arrays, open_run
from tests.analysis.damage import EVERY, result_folder
from tests.report.runs import network_tensors


@pytest.fixture
def copy(text, tmp_path):
    return shutil.copytree(text.location, tmp_path / "text.zarr")


def test_an_organised_run_lacks_nothing(text):
    assert missing_result(text.part(), 3) is None
    assert is_organized(text.part())


def test_a_new_run_lacks_the_first_result(tmp_path):
    axes = ("batch", "query", "key", "head")
    run = import_arrays(network_tensors(1, 8, 1, 2), tmp_path / "new.zarr", axes=axes)
    assert missing_result(run.part()) == "head-entropy of batch 0"
    assert not is_organized(run.part())


@pytest.mark.parametrize(
    ("name", "batch", "told"),
    [
        ("network-entropy", 2, "network-entropy of batch 2"),
        ("organization", 1, "organization of batch 1"),
        ("consensus", None, "consensus of all batches"),
    ],
)
def test_a_result_that_is_missing_is_named(copy, name, batch, told):
    open_run(copy).part().delete_result(name, batch=batch)
    assert missing_result(open_run(copy).part()) == told


@pytest.mark.parametrize("n_shown", [1, 2])
def test_damaged_trees_are_named_whether_their_batch_is_shown_or_not(copy, n_shown):
    EVERY["array flipped"](result_folder(copy, "organization", 1))
    assert missing_result(open_run(copy).part(), n_shown) == "organization of batch 1"
