"""Smaller copies of networks compute what the masked networks do."""

import pytest
import torch

from haarbor.errors import PruningError
from haarbor.pruning import compensate, compensated, layer_moments, n_parameters, prune_heads, removed_heads
from tests.pruning.builders import answer, assert_same, everything
from tests.pruning.small_networks import MADE_SMALLER, MASKED_ONLY


@pytest.mark.parametrize("name", MADE_SMALLER)
@pytest.mark.parametrize("replacement", ["zero", "mean", "refit"])
def test_the_smaller_network_computes_what_the_masked_one_does(name, replacement):
    model, heads, data, removed = everything(name)
    whole = answer(model, data[1])
    options, masked = {}, removed_heads(model, heads, removed)
    if replacement == "mean":
        options["means"] = [layer.mean for layer in layer_moments(model, heads, data[:1])]
        masked = removed_heads(model, heads, removed, means=options["means"])
    elif replacement == "refit":
        options["compensation"] = compensate(model, heads, removed, data[:1])
        masked = compensated(model, heads, options["compensation"])
    smaller = prune_heads(model, heads, removed, batch=data[0], **options)
    with masked:
        expected = answer(model, data[1])
    assert_same(answer(smaller, data[1]), expected)
    assert not torch.allclose(expected, whole, atol=1e-3)
    torch.testing.assert_close(answer(model, data[1]), whole)
    assert n_parameters(smaller) < n_parameters(model)


def test_parameters_of_the_removed_heads_are_gone():
    model, heads, data, removed = everything("gpt2")
    smaller = prune_heads(model, heads, removed, batch=data[0])
    # A head of GPT-2 has 3 x 8 rows of 32 weights and a bias, and 8 columns of 32.
    assert n_parameters(model) - n_parameters(smaller) == len(removed) * (3 * 8 * 33 + 8 * 32)
    sizes = [layer.attn.c_proj.weight.shape[0] for layer in smaller.transformer.h]
    assert sizes == [24, 16, 16]


@pytest.mark.parametrize("name", MASKED_ONLY)
def test_other_networks_are_refused_and_told_of_masks(name):
    model, heads, data, removed = everything(name, [(0, 1)])
    with pytest.raises(PruningError, match=r"[Hh]eads can still be removed by a mask"):
        prune_heads(model, heads, removed, batch=data[0])


def test_a_compensation_for_other_heads_is_refused():
    model, heads, data, removed = everything("bert")
    found = compensate(model, heads, [(0, 0)], data)
    with pytest.raises(PruningError, match="it is for others"):
        prune_heads(model, heads, removed, batch=data[0], compensation=found)
