"""Small layers, moments, curves and networks that the tests of several modules are about."""

import resource
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch

from haarbor.pruning import (
    DamageCurves,
    LayerHeads,
    LayerMoments,
    Metric,
    NetworkHeads,
    ScoreCurve,
    layer_moments,
    network_heads,
)
from haarbor.pruning._metrics import METRICS, Measurement, logits_of
from haarbor.pruning._model_batches import forward
from tests.pruning.small_networks import MADE_SMALLER, MASKED_ONLY, batches, network

CALIBRATION = batches("llama", 4, seed=11, size=1)
EVALUATION = batches("llama", 4, seed=12, size=1)
LOSS = METRICS["loss"]
LATE_VECTORS = Metric(
    "late vectors", lambda model, batch: forward(model, batch).last_hidden_state[:, 7:, 0].square().mean()
)
"""A metric for networks that answer with vectors."""
HEADS = [(0, 1), (1, 0), (1, 2), (2, 3), (2, 2)]
EVERY = [*MADE_SMALLER, *MASKED_ONLY, "multihead-sequence-first"]


def layer_heads(n_heads, head_width=2, group=1, block=None):
    return LayerHeads(
        projection="o",
        attention="a",
        call=0,
        n_heads=n_heads,
        head_width=head_width,
        head_group=group,
        block=block,
    )


def moments_of(x, weight, energy=None, *, bias=None):
    """Moments by their definition; without energies, those of a residual stream that was not found."""
    shares = np.full(len(x), np.nan) if energy is None else 1 / energy
    return LayerMoments(
        second=x.T @ x / len(x),
        mean=x.mean(0),
        relative_second=(x * shares[:, None]).T @ x / len(x),
        relative_mean=(x * shares[:, None]).sum(0) / shares.sum(),
        relative_weight=shares.mean(),
        residual_energy=np.nan if energy is None else energy.mean(),
        n_tokens=len(x),
        weight=weight,
        bias=np.zeros(len(weight)) if bias is None else bias,
    )


def projection_inputs(model, heads, data):
    """Inputs and outputs of every projection, by plain hooks."""
    seen = {number: [] for number in range(len(heads))}
    handles = [
        model.get_submodule(layer.projection).register_forward_hook(
            lambda _m, args, out, number=number: seen[number].append((args[0], out))
        )
        for number, layer in enumerate(heads.layers)
    ]
    with torch.no_grad():
        for batch in data:
            forward(model, batch)
    for handle in handles:
        handle.remove()
    return [
        tuple(torch.cat([pair[side].reshape(-1, pair[side].shape[-1]) for pair in pairs]).double().numpy()
              for side in (0, 1))
        for pairs in seen.values()
    ]  # fmt: skip


def answer(model, batch):
    with torch.no_grad():
        output = forward(model, batch)
    hidden = getattr(output, "last_hidden_state", None)
    return hidden if hidden is not None else logits_of(output)


def assert_same(found, expected):
    """Equal to a hundred-thousandth of the largest output."""
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5 * max(1.0, expected.abs().max().item()))


def everything(name, removed=HEADS):
    model, data = network(name), batches(name, 3)
    heads = network_heads(model, data[0])
    return model, heads, data, [pair for pair in removed if pair[0] < len(heads)]


def measurable(name, n=4, *, size=1, seed=11):
    """A small network with its heads, batches, their moments and a loss."""
    model, data = network(name), batches(name, n, seed=seed, size=size)
    heads = network_heads(model, data[0])
    loss = {"zoo-vit": METRICS["classification-loss"], "vectors": LATE_VECTORS}.get(name, LOSS)
    return model, heads, layer_moments(model, heads, data), data, loss


class LinearHeads(torch.nn.Module):
    """Layers side by side, whose heads give one channel of the input each."""

    def __init__(self, weights):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(len(own), 1, bias=False, dtype=torch.float64) for own in weights
        )
        with torch.no_grad():
            for layer, own in zip(self.layers, weights, strict=True):
                layer.weight.copy_(torch.tensor([own], dtype=torch.float64))

    def forward(self, x):
        return torch.cat([layer(x) for layer in self.layers], dim=-1)


def linear_heads(weights, x, *, group=1):
    """Such a network, its heads, their moments over some inputs, and its squared error against them all."""
    model = LinearHeads(weights).eval()
    heads = NetworkHeads(
        tuple(
            replace(layer_heads(len(own), 1, group), projection=f"layers.{number}")
            for number, own in enumerate(weights)
        )
    )
    with torch.no_grad():
        whole = model(torch.tensor(x))

    def squared_error(network, batch):
        return (network(batch.inputs["x"]) - whole[batch.labels]).square().sum(), float(len(batch))

    moments = [moments_of(x, np.array([own])) for own in weights]
    return model, heads, moments, Metric("squared error", squared_error)


def choice_at_random(rng, heads, n_removed):
    """So many heads, of every layer all but one at most."""
    order = rng.permutation(heads.n_heads)
    stays = np.unique(heads.layer_of_head[order], return_index=True)[1]
    removed = np.zeros(heads.n_heads, bool)
    removed[np.delete(order, stays)[:n_removed]] = True
    return removed


def made_curves(damages, counts=None, higher=False):
    n_batches = next(iter(damages.values())).shape[2]
    counts = np.ones(n_batches) if counts is None else np.array(counts)
    n_shares = next(iter(damages.values())).shape[1]
    return DamageCurves(
        shares=np.arange(1, n_shares + 1) / 10,
        curves={
            name: ScoreCurve(
                name=name,
                score=name,
                replacement="refit",
                damage=damage,
                removed=np.zeros((*damage.shape[:2], 5), bool),
            )
            for name, damage in damages.items()
        },
        baseline=Measurement(totals=2.0 * counts, counts=counts),
        metric="loss",
        higher_is_better=higher,
        within="network",
        replacement="zero",
    )


@contextmanager
def files_of_at_most(n_bytes):
    """A disk that is full: larger files cannot be written."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def assert_one_line(refused):
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith((".", "?"))
    assert len(str(refused.value)) < 700
