"""Results of a network: what they must hold, and their way to a file and back."""

from dataclasses import replace

import numpy as np
import pytest

from haarbor.errors import ShapeError, StoreError
from haarbor.paper import loaded_results
from haarbor.store import save_results_file
from haarbor.store._result_values import stored_value
from tests.paper.runs import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_results_come_back_from_their_file_as_they_were(kind, gathered, tmp_path):
    _, found = gathered(kind)
    path = save_results_file([found], tmp_path / "results.npz")
    (back,) = loaded_results(path)
    described, arrays = stored_value(found)
    again, arrays_again = stored_value(back)
    assert described == again
    for name, array in arrays.items():
        assert arrays_again[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays_again[name], array)


def test_a_file_of_something_else_is_refused(tmp_path):
    save_results_file([{"a": 1}], tmp_path / "results.npz")
    with pytest.raises(StoreError, match="must hold the results of `haarbor figures`"):
        loaded_results(tmp_path / "results.npz")


def test_results_whose_parts_do_not_fit_are_refused(gathered):
    _, found = gathered("causal")
    with pytest.raises(ShapeError, match=r"mask must have shape \(16, 16\); found \(3, 3\)"):
        replace(found, mask=np.ones((3, 3), dtype=bool))


def test_a_name_commands_no_terminal(gathered):
    _, found = gathered("causal")
    assert repr(found.named("\x1b[2J")).startswith(r"PaperResults(\x1b[2J: 6 heads, ")
