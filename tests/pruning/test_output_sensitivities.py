"""How much errors of a layer's output cost, by direction."""

import numpy as np
import pytest
import torch

from haarbor.errors import PruningError
from haarbor.pruning import Metric, model_batches, network_heads, output_sensitivities
from haarbor.pruning._metrics import METRICS, logits_of
from haarbor.pruning._model_batches import forward
from haarbor.pruning._projection_hooks import projection_hooks
from tests.assertions import assert_close
from tests.pruning.small_networks import batches, network

LOSS = METRICS["loss"]


def exact_loss(model, batch):
    """The loss on text in float64: the package's own is rounded to float32, too coarse for differences."""
    logits, tokens = logits_of(forward(model, batch)), batch.inputs["input_ids"]
    answers = tokens[:, 1:].reshape(-1)
    scored = logits[:, :-1].reshape(answers.numel(), -1)
    return torch.nn.functional.cross_entropy(scored, answers, reduction="sum"), float(answers.numel())


EXACT = Metric("exact", exact_loss)


CHANNELS = [0, 5, 11, 30]


def slow_sensitivity(model, heads, batch, number):
    """Derivatives by central differences, one entry of the layer's output at a time, for some channels."""
    seen = {}

    def loss(token, channel, step):
        def push(place, _x, output):
            if place != number:
                return None
            pushed = output.clone()
            pushed[0, token, channel] += step
            return pushed

        with projection_hooks(model, heads, change_output=push), torch.no_grad():
            total, count = EXACT.total(model, batch)
        return float(total), count

    block = model.get_submodule(heads.layers[number].block)
    handles = [
        block.register_forward_pre_hook(
            lambda _m, args, kwargs: seen.update(r=args[0] if args else kwargs["hidden_states"]),
            with_kwargs=True,
        ),
        model.get_submodule(heads.layers[number].projection).register_forward_hook(
            lambda _m, _a, output: seen.update(o=output)
        ),
    ]
    with torch.no_grad():
        EXACT.total(model, batch)
    for handle in handles:
        handle.remove()
    sizes = np.linalg.norm((seen["r"] + seen["o"])[0].numpy(), axis=1)
    found = np.zeros((len(CHANNELS), len(CHANNELS)))
    for token in range(seen["o"].shape[1]):
        gradient = np.array([(loss(token, c, 1e-5)[0] - loss(token, c, -1e-5)[0]) / 2e-5 for c in CHANNELS])
        found += sizes[token] ** 2 * np.outer(gradient, gradient)
    return found / loss(0, 0, 0.0)[1]


def test_they_are_those_of_differences():
    # Its norms stay in float64, unlike those of a llama.
    model = network("gpt2").double()
    batch = model_batches([{"input_ids": batches("gpt2")[0].inputs["input_ids"][:1, :4]}])[0]
    heads = network_heads(model, batch)
    found = output_sensitivities(model, heads, [batch], EXACT)
    expected = slow_sensitivity(model, heads, batch, 2)
    np.testing.assert_allclose(
        found[2][np.ix_(CHANNELS, CHANNELS)], expected, atol=1e-5 * abs(expected).max()
    )
    # Two batches give the mean by their answers, and no gradient is left behind.
    twice = output_sensitivities(model, heads, [batch, batch], EXACT)
    assert_close(twice[0], found[0], scale=1e3)
    assert all(weight.requires_grad and weight.grad is None for weight in model.parameters())


def test_they_are_symmetric_and_not_negative():
    model, data = network("gemma3"), batches("gemma3", 2)
    for found in output_sensitivities(model, network_heads(model, data[0]), data, LOSS):
        np.testing.assert_allclose(found, found.T, atol=1e-9 * abs(found).max())
        assert np.linalg.eigvalsh(found).min() > -1e-9 * abs(found).max()


def test_a_metric_without_a_gradient_is_refused():
    model, data = network("llama"), batches("llama")
    constant = Metric("constant", lambda _model, _batch: (torch.tensor(1.0), 1.0))
    with pytest.raises(PruningError, match="the metric 'constant' has no gradient"):
        output_sensitivities(model, network_heads(model, data[0]), data, constant)
