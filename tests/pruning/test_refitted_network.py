"""A network without any choice of its heads, refitted, against one refit at a time."""

import numpy as np
import pytest
import torch

from haarbor.pruning import compensate, compensated
from haarbor.pruning._model_batches import forward
from haarbor.pruning._refitted_network import RefittedNetwork
from tests.pruning.builders import answer, assert_same, choice_at_random, measurable

NETWORKS = ["gpt2", "llama", "bert", "albert", "bart", "zoo-vit", "multihead", "multihead-sequence-first"]


def made(name, **given):
    model, heads, moments, data, _ = measurable(name, **given)
    return model, heads, moments, data, RefittedNetwork(model, heads, moments)


def refitted_one_by_one(model, heads, moments, removed, batch):
    with compensated(model, heads, compensate(model, heads, removed, None, moments=moments)):
        return answer(model, batch)


def ones(heads, *rows):
    return [torch.ones(*rows, layer.n_heads) for layer in heads.layers]


def n_hooks(model):
    return sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in model.modules())


def assert_the_network_is_whole(model, weights, whole, batch):
    assert n_hooks(model) == 0
    for name, value in model.state_dict().items():
        assert torch.equal(value, weights[name])
    assert torch.equal(answer(model, batch), whole)


@pytest.mark.parametrize("name", NETWORKS)
def test_it_answers_as_a_network_that_was_refitted_for_each_choice(name, rng):
    model, heads, moments, data, network = made(name, size=2)
    whole = answer(model, data[0])
    choices = [choice_at_random(rng, heads, n) for n in (0, 1, 2, 3, heads.n_heads // 2, heads.n_heads)]
    # The same once more: from what was kept of the last ones, or computed again.
    for removed in [*choices, *choices]:
        with network.without(removed):
            found = answer(model, data[0])
        assert_same(found, refitted_one_by_one(model, heads, moments, removed, data[0]))
        if removed.sum() > 1:
            assert (found - whole).abs().max() > 1e-3 * whole.abs().max()


def test_a_network_without_any_removal_is_the_whole_one():
    model, heads, _, data, network = made("llama")
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    whole = answer(model, data[0])
    with network.without(np.zeros(heads.n_heads, bool)):
        assert torch.equal(answer(model, data[0]), whole)
    assert_the_network_is_whole(model, weights, whole, data[0])


@pytest.mark.parametrize("name", ["llama", "multihead"])
def test_nothing_is_left_behind(name):
    model, heads, _, data, network = made(name)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    whole = answer(model, data[0])
    removed = heads.mask([1, 6])
    for around in (network.without(removed), network.gated(removed, ones(heads))):
        with around:
            assert not torch.equal(answer(model, data[0]), whole)
        assert_the_network_is_whole(model, weights, whole, data[0])
    for around in (network.without(removed), network.gated(removed, ones(heads))):
        with pytest.raises(KeyboardInterrupt), around:
            raise KeyboardInterrupt
        assert_the_network_is_whole(model, weights, whole, data[0])


def test_of_many_choices_of_a_layer_each_has_its_own_refit():
    """More than are kept, again and again, in a layer that has four heads."""
    model, heads, moments, data, network = made("gpt2")
    choices = [[4 + head for head in range(4) if number >> head & 1] for number in range(1, 15)]
    expected = [refitted_one_by_one(model, heads, moments, removed, data[0]) for removed in choices]
    for number in [*range(14), *range(13, -1, -1), *[3, 9, 3, 12, 9, 3, 0]]:
        with network.without(heads.mask(choices[number])):
            assert_same(answer(model, data[0]), expected[number])


@pytest.mark.parametrize("name", NETWORKS)
def test_factors_of_one_change_nothing(name):
    model, heads, _, data, network = made(name, size=2)
    removed = heads.mask([0, 2, 5])
    with network.without(removed):
        expected = answer(model, data[0])
    for factors in (ones(heads), ones(heads, 2)):
        with network.gated(removed, factors):
            assert_same(answer(model, data[0]), expected)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_factor_brings_a_head_back_or_takes_one_away(name):
    """One more is the refit with the head, one less the refit without it, for every single head."""
    model, heads, moments, data, network = made(name, size=2)
    removed = heads.mask([0, 2, 5])
    with network.without(removed):
        now = answer(model, data[0])
    changed = []
    for head in range(heads.n_heads):
        other = removed.copy()
        other[head] = not removed[head]
        factors = ones(heads)
        factors[heads.layer_of_head[head]][heads.head_in_layer[head]] = 2.0 if removed[head] else 0.0
        with network.gated(removed, factors):
            found = answer(model, data[0])
        assert_same(found, refitted_one_by_one(model, heads, moments, other, data[0]))
        changed.append((found - now).abs().max() > 1e-4 * now.abs().max())
    assert np.mean(changed) > 0.7


@pytest.mark.parametrize("name", ["llama", "bert", "albert", "multihead-sequence-first"])
def test_every_row_has_factors_of_its_own(name):
    model, heads, moments, data, network = made(name, size=2)
    removed = heads.mask([1, 2, 4])
    factors = ones(heads, 2)
    factors[0][1, 1], factors[1][0, 3] = 2.0, 0.0
    with network.gated(removed, factors):
        found = answer(model, data[0])
    for row, other in enumerate(([1, 2, 4, 7], [2, 4])):
        assert_same(found[row], refitted_one_by_one(model, heads, moments, heads.mask(other), data[0])[row])


def test_the_way_down_through_a_factor_is_the_networks_own():
    """At one a factor adds nothing to the gradients of the layers below."""
    model, heads, _, data, network = made("gpt2")
    removed = heads.mask([1, 6])
    gradients = []
    for around in (network.without(removed), network.gated(removed, ones(heads))):
        embedded = model.get_input_embeddings()(data[0].inputs["input_ids"]).detach().requires_grad_()
        with around:
            model(inputs_embeds=embedded).logits.square().sum().backward()
        gradients.append(embedded.grad)
        model.zero_grad()
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-4)


def test_it_follows_the_model_to_another_precision():
    model, heads, moments, data, network = made("gpt2")
    removed = heads.mask([1, 6])
    with network.without(removed):
        single = answer(model, data[0])
    model.double()
    with torch.no_grad(), network.without(removed):
        double = forward(model, data[0]).logits
    assert double.dtype == torch.float64
    np.testing.assert_allclose(single, double, atol=1e-4 * float(double.abs().max()))
    again = RefittedNetwork(model, heads, moments)
    with torch.no_grad(), again.gated(removed, ones(heads)):
        np.testing.assert_allclose(forward(model, data[0]).logits, double, atol=1e-5 * double.abs().max())
