"""Weights of single heads, told from what their network computes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray
from haarbor.capturing import AttentionCall, recorded_calls
from haarbor.diagnostics._circuit_figures import HeadCircuit
from haarbor.pruning import LayerHeads, ModelBatch, NetworkHeads, forward, is_projection, projection_weight

__all__ = ["head_circuits"]

# Squared sine of the angle between a column of a linear map and a channel that may be the same.
_ALIKE = 1e-6


class _Layer:
    """What one layer did with one sample, in float64."""

    def __init__(self, call: AttentionCall, attention: FloatArray) -> None:
        self.attention = attention
        query, key = getattr(call, "query", None), getattr(call, "key", None)
        self.query = None if query is None else _array(query[0])
        self.key = None if key is None else _array(key[0])
        self.mixed: FloatArray | None = None
        self.given: list[tuple[str, FloatArray]] = []


def head_circuits(
    model: torch.nn.Module, heads: NetworkHeads, samples: Sequence[ModelBatch]
) -> list[HeadCircuit]:
    """Query, key, value and output weights of every head of a model.

    Nothing is assumed about names or about the order of channels in fused maps. The model runs on the
    samples, and those channels of the linear maps in its attention modules are taken that are, to rounding,
    the queries and keys of a head, and whose mixture by the attention is what enters the output projection.
    Queries and keys that are turned by their place are looked for at the first one, where nothing is turned.
    What is not found so, as where queries are normalised, is None.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    samples : sequence of ModelBatch
        Of one row each, with different first tokens.

    Returns
    -------
    list of HeadCircuit
    """
    modules = dict(model.named_modules())
    runs = [_watched(model, heads, sample, modules) for sample in samples]
    circuits: list[HeadCircuit] = []
    for number, layer in enumerate(heads.layers):
        circuits += _circuits_of(layer, [run[number] for run in runs], modules)
    return circuits


def _watched(
    model: torch.nn.Module, heads: NetworkHeads, sample: ModelBatch, modules: dict[str, torch.nn.Module]
) -> list[_Layer]:
    projections = {layer.projection for layer in heads.layers}
    inside = tuple(f"{layer.attention}." for layer in heads.layers)
    layers: list[_Layer] = []
    given: list[tuple[str, FloatArray]] = []

    def on_call(
        _name: str, _module: torch.nn.Module, call: AttentionCall, weights: torch.Tensor | None
    ) -> None:
        whole = slice(0, call.n_heads)
        found = call.probabilities(call.logits(whole), whole) if weights is None else weights
        layers.append(_Layer(call, _array(found[0])))
        layers[-1].given = list(given)
        given.clear()

    def projected(name: str) -> Any:
        def seen(_module: torch.nn.Module, args: tuple[Any, ...], output: Any) -> None:
            number = len(layers) - 1
            if number >= 0 and layers[number].mixed is None and name == heads.layers[number].projection:
                layers[number].mixed = _array(args[0].reshape(-1, args[0].shape[-1]))
            elif isinstance(output, torch.Tensor) and output.dim() == 3:
                given.append((name, _array(output[0])))

        return seen

    with ExitStack() as hooks, torch.no_grad():
        for name, module in modules.items():
            if is_projection(module) and (name in projections or name.startswith(inside)):
                hooks.callback(module.register_forward_hook(projected(name)).remove)
        hooks.enter_context(recorded_calls(model, on_call))
        forward(model, sample)
    return layers


def _array(tensor: torch.Tensor) -> FloatArray:
    array: FloatArray = tensor.detach().double().cpu().numpy()
    return array


def _circuits_of(
    layer: LayerHeads, runs: Sequence[_Layer], modules: dict[str, torch.nn.Module]
) -> list[HeadCircuit]:
    output = projection_weight(modules[layer.projection])
    first = runs[0]
    inside = [name for name, _ in first.given if name.startswith(f"{layer.attention}.")]
    n_tokens = first.attention.shape[1]
    columns = [
        np.concatenate([dict(run.given)[name] for name in inside], axis=1)
        if inside and all(dict(run.given)[name].shape[0] == n_tokens for name in inside)
        else None
        for run in runs
    ]
    weight = np.concatenate([projection_weight(modules[name]) for name in inside]) if inside else None
    circuits = []
    for head in range(layer.n_heads):
        own = output[:, layer.channels(head)]
        rows: dict[str, FloatArray | None] = dict.fromkeys(("query", "key", "value"))
        if weight is not None and columns[0] is not None:
            if first.attention.shape[2] == n_tokens and first.mixed is not None:
                mixed = first.attention[head] @ columns[0]
                rows["value"] = _rows(weight, mixed, first.mixed[:, layer.channels(head)])
            for kind in ("query", "key"):
                place = head // layer.head_group if kind == "key" else head
                rows[kind] = _turned(weight, columns, runs, kind, place)
        circuits.append(HeadCircuit(rows["query"], rows["key"], rows["value"], own))
    return circuits


def _turned(
    weight: FloatArray, columns: Sequence[FloatArray | None], runs: Sequence[_Layer], kind: str, head: int
) -> FloatArray | None:
    """Rows of the weights that give a head its queries or keys, at all places or at the first ones alone."""
    wanted = [getattr(run, kind) for run in runs]
    if wanted[0] is None or any(one is None for one in columns):
        return None
    there = [one for one in columns if one is not None]
    found = _rows(weight, there[0], wanted[0][head])
    if found is None and len(runs) > 3:
        found = _rows(weight, np.stack([one[0] for one in there]), np.stack([one[head][0] for one in wanted]))
    return found


def _rows(weight: FloatArray, columns: FloatArray, wanted: FloatArray) -> FloatArray | None:
    """Rows of `weight` whose columns are the wanted ones up to a factor, times that factor, or None."""
    if columns.shape[0] != wanted.shape[0] or columns.shape[0] < 2:
        return None
    sizes, wanted_sizes = np.linalg.norm(columns, axis=0), np.linalg.norm(wanted, axis=0)
    if not (sizes > 0).any() or not (wanted_sizes > 0).all():
        return None
    sizes = np.where(sizes > 0, sizes, np.inf)
    cosines = (wanted / wanted_sizes).T @ (columns / sizes)
    best = np.abs(cosines).argmax(axis=1)
    picked = cosines[np.arange(best.size), best]
    if (1 - picked**2 > _ALIKE).any() or np.unique(best).size < best.size:
        return None
    factors = np.sign(picked) * wanted_sizes / sizes[best]
    found: FloatArray = weight[best] * factors[:, None]
    return found
