"""Changes of layers, many in one forward pass."""

import numpy as np
import pytest
import torch

from haarbor.pruning import _network_probe as module
from haarbor.pruning import model_batches, network_heads
from haarbor.pruning._metrics import logits_of
from haarbor.pruning._model_batches import forward
from haarbor.pruning._network_probe import NetworkProbe
from haarbor.pruning._projection_hooks import projection_hooks
from tests.pruning.small_networks import batches, network


def scaled(factor):
    return lambda _x, output: factor * output


CHANGES = [(0, scaled(0.5)), (0, scaled(2.0)), (1, scaled(-1.0)), (2, scaled(0.0)), (2, scaled(1.5))]


def one_by_one(model, heads, row, changes=CHANGES):
    """Relative entropy of every change, in a forward pass of its own."""
    found = []
    with torch.no_grad():
        whole = torch.log_softmax(logits_of(forward(model, row)).double(), dim=-1)
        for number, change in changes:

            def changed(place, x, output, number=number, change=change):
                return change(x, output) if place == number else None

            with projection_hooks(model, heads, change_output=changed):
                other = torch.log_softmax(logits_of(forward(model, row)).double(), dim=-1)
            found.append(float((whole.exp() * (whole - other)).sum(-1).mean()))
    return np.array(found)


@pytest.fixture
def llama():
    model, data = network("llama"), batches("llama", 1, size=1)
    heads = network_heads(model, data[0])
    rows = []

    def count(_module, args, kwargs):
        rows.append(len(kwargs["input_ids"]))

    handle = model.register_forward_pre_hook(count, with_kwargs=True)
    yield model, heads, data[0], rows
    handle.remove()


def probed(model, heads, row, changes=CHANGES):
    with torch.no_grad():
        answer = logits_of(forward(model, row))
    return NetworkProbe(model, heads).mean_changes(row, answer, changes)


def test_changes_of_a_layer_share_a_forward_pass(llama):
    model, heads, row, rows = llama
    expected = one_by_one(model, heads, row)
    rows.clear()
    # In any order: what belongs to a layer is found.
    order = [4, 1, 2, 0, 3]
    found = probed(model, heads, row, [CHANGES[place] for place in order])
    # That of the answer, and one for each layer, which starts with a single row.
    assert rows == [1, 1, 1, 1]
    np.testing.assert_allclose(found, expected[order], rtol=2e-3)


def test_no_more_rows_than_fit_into_memory(llama, monkeypatch):
    model, heads, row, rows = llama
    changes = [(1, scaled(factor)) for factor in (0.0, 0.5, 1.5)]
    expected = one_by_one(model, heads, row, changes)
    monkeypatch.setattr(module, "_MOST_NUMBERS", 3 * 14 * 97)
    rows.clear()
    np.testing.assert_allclose(probed(model, heads, row, changes), expected, rtol=2e-3)
    assert len(rows) == 3


def test_a_change_alone_in_its_layer_takes_the_only_row(llama):
    model, heads, row, _ = llama
    sizes = []
    handle = model.register_forward_hook(lambda _module, _args, output: sizes.append(len(output.logits)))
    found = probed(model, heads, row, CHANGES[1:3])
    handle.remove()
    assert sizes == [1, 1, 1]
    np.testing.assert_allclose(found, one_by_one(model, heads, row, CHANGES[1:3]), rtol=2e-3)


def test_rows_that_cannot_be_added_on_the_way_are_there_from_the_start(llama):
    model, heads, row, rows = llama
    expected = one_by_one(model, heads, row)
    with torch.no_grad():
        answer = logits_of(forward(model, row))

    def strict(_module, _args, kwargs, output):
        if len(output.logits) != len(kwargs["input_ids"]):
            raise ValueError("batch sizes differ")

    handle = model.register_forward_hook(strict, with_kwargs=True)
    rows.clear()
    found = NetworkProbe(model, heads).mean_changes(row, answer, CHANGES)
    handle.remove()
    np.testing.assert_allclose(found, expected, rtol=2e-3)
    # One trial, and then never again.
    assert rows == [1, 2, 1, 2]


def test_a_row_without_a_change_is_for_the_trial_alone(llama):
    model, heads, row, _ = llama
    expected = one_by_one(model, heads, row)
    with torch.no_grad():
        answer = logits_of(forward(model, row))
    sizes = []
    handle = model.register_forward_hook(lambda _module, _args, output: sizes.append(len(output.logits)))
    probe = NetworkProbe(model, heads)
    np.testing.assert_allclose(probe.mean_changes(row, answer, CHANGES), expected, rtol=2e-3)
    assert sizes == [3, 1, 3]
    np.testing.assert_allclose(probe.mean_changes(row, answer, CHANGES), expected, rtol=2e-3)
    assert sizes[3:] == [2, 1, 2]
    # Inputs of another shape are another trial.
    shorter = batches("llama", 1, size=1)[0].inputs["input_ids"][:, :9]
    (row,) = model_batches({"input_ids": shorter})
    with torch.no_grad():
        answer = logits_of(forward(model, row))
    sizes.clear()
    np.testing.assert_allclose(
        probe.mean_changes(row, answer, CHANGES), one_by_one(model, heads, row), rtol=2e-3
    )
    assert sizes[:3] == [3, 1, 3]
    handle.remove()


def test_another_answer_without_a_change_is_noticed(llama):
    model, heads, row, rows = llama
    with torch.no_grad():
        answer = logits_of(forward(model, row))
    rows.clear()
    NetworkProbe(model, heads).mean_changes(row, 2 * answer, CHANGES)
    assert rows == [1, 2, 1, 2]


def test_nothing_to_change_is_no_forward_pass(llama):
    model, heads, row, rows = llama
    assert probed(model, heads, row, []).shape == (0,)
    assert rows == [1]
