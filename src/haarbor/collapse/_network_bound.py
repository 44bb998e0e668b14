"""The doubly exponential bound from the weights of a real network."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray, frozen
from haarbor.capturing import AttentionCall, recorded_calls
from haarbor.collapse._bound_result import BOUNDED, NetworkBound
from haarbor.collapse._collapse_bound import SMALL
from haarbor.collapse._hidden_input import first_tensor
from haarbor.collapse._network_blocks import NetworkBlocks, network_blocks
from haarbor.collapse._network_threads import network_threads
from haarbor.collapse._output_map import channel_scale, output_map
from haarbor.collapse._probed_maps import ProbedMaps, probed_maps
from haarbor.collapse._rank_collapse import without_scores
from haarbor.collapse._switched_off import switched_off
from haarbor.engines import usable_cores
from haarbor.errors import CollapseError
from haarbor.pruning import LayerHeads, ModelBatch, NetworkHeads, forward, model_batches, network_heads

__all__ = ["network_bound"]

_SLACK = 1e-3
_MASKED = "its attention is masked, so that a token does not see all others"
_POSITIONS = "the places of the tokens enter the scores of its attention"
_OTHER = "the scores of its attention are not products of queries and keys that are linear in the tokens"
_HIDDEN = "the maps of its heads could not be told apart"


def network_bound(
    model: torch.nn.Module, sample: Any, *, like: torch.nn.Module | None = None
) -> NetworkBound:
    r"""The bound of Dong, Cordonnier and Loukas for the attention of a network.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode: as for :func:`haarbor.rank_collapse`.
    sample : mapping, tensor or Sample
        One text or image.
    like : torch.nn.Module, optional
        A network that is built alike, by which the parts of the layers are found.

    Returns
    -------
    NetworkBound
        With a reason where the theorem does not speak of the network.

    Raises
    ------
    CollapseError
        If the layers are built in a way that is not known.

    See Also
    --------
    haarbor.collapse.stack_bound : The bound for a stack.
    haarbor.rank_collapse : The measures at every depth.

    Notes
    -----
    Queries and keys are found by probing, and held against those of the sample. Biases change nothing: what
    those of queries and keys add to the scores is the same along a row or along a column, which the proof
    allows, and what those of values and outputs add is the same for every token.
    """
    with network_threads(usable_cores() // 2):
        return _bound(model, sample, like)


def _bound(model: torch.nn.Module, sample: Any, like: torch.nn.Module | None) -> NetworkBound:
    network = without_scores(model)
    example = network if like is None else without_scores(like)
    batch = next(model_batches([sample])[0].rows())
    heads, blocks = network_heads(example, batch), network_blocks(example, batch)
    seen = _Seen(heads, blocks)
    with torch.no_grad(), seen.watching(network), switched_off(network, blocks, BOUNDED, on_state=seen.state):
        forward(network, batch)
    reason = seen.reason(batch)
    if reason:
        return _without(reason)
    try:
        maps = probed_maps(network, batch, heads, blocks)
        found = [seen.sizes(network, number, maps[number]) for number in range(len(blocks))]
    except CollapseError:
        return _without(_HIDDEN)
    if any(sizes is None for sizes in found):
        return _without(_POSITIONS if any(_turned(one) for one in maps) else _OTHER)
    scores, outputs = np.array([sizes for sizes in found if sizes is not None]).T
    n_heads = np.array([layer.n_heads for layer in heads.layers])
    with np.errstate(divide="ignore"):
        steps = np.log10(4 * n_heads) + np.log10(scores) + np.log10(outputs)
        limits = np.log10(SMALL / 2) / 2 - np.log10(scores) / 2
    return NetworkBound(reason="", steps=frozen(steps), limits=frozen(limits))


class _Seen:
    """What a sample shows of attention alone."""

    def __init__(self, heads: NetworkHeads, blocks: NetworkBlocks) -> None:
        self.heads, self.blocks = heads, blocks
        self.states: list[FloatArray] = []
        self.calls: list[AttentionCall] = []
        self.kept: dict[str, FloatArray] = {}

    def watching(self, model: torch.nn.Module) -> ExitStack:
        hooks = ExitStack()
        for parts, layer in zip(self.blocks.blocks, self.heads.layers, strict=True):
            for name in (parts.attention, layer.projection):
                hooks.callback(model.get_submodule(name).register_forward_hook(self._noted(name)).remove)
        hooks.enter_context(recorded_calls(model, self._on_call))
        return hooks

    def state(self, _depth: int, x: torch.Tensor) -> None:
        self.states.append(x[0].detach().double().cpu().numpy())

    def _noted(self, name: str) -> Any:
        def note(_module: Any, _args: Any, answer: Any) -> None:
            found = first_tensor(answer)
            if found is not None:
                self.kept[name] = found.reshape(-1, found.shape[-1]).detach().double().cpu().numpy()

        return note

    def _on_call(self, _name: str, _module: Any, call: AttentionCall, _weights: Any) -> None:
        self.calls.append(call)

    def reason(self, batch: ModelBatch) -> str:
        """Why the theorem does not speak of such attention; "" if it may."""
        if len(self.calls) != len(self.blocks):
            return _HIDDEN
        for call in self.calls:
            if not call.is_whole or not _sees_all(call.valid()[0], batch):
                return _MASKED
            if getattr(call, "query", None) is None or getattr(call, "softcap", None) is not None:
                return _OTHER
            if getattr(call, "bias", None) is not None or getattr(call, "sinks", None) is not None:
                return _POSITIONS if getattr(call, "sinks", None) is None else _OTHER
        return ""

    def sizes(self, model: torch.nn.Module, number: int, maps: ProbedMaps) -> tuple[float, float] | None:
        """Largest norms of the maps of scores and of outputs of a layer; None if they are no such maps."""
        call: Any = self.calls[number]
        x = self.states[number]
        if not maps.query or _turned(maps):
            return None
        for table, told in ((maps.query[0], call.query), (maps.key[0], call.key)):
            seen = told[0].detach().double().cpu().numpy()
            made = np.einsum("td,dhe->hte", x, table[:-1] - table[-1]) + table[-1][:, None, :]
            if not np.allclose(made, seen, rtol=0, atol=_SLACK * max(np.abs(seen).max(), 1e-30)):
                return None
        layer = self.heads.layers[number]
        query, key = (table[:-1] - table[-1] for table in (maps.query[0], maps.key[0]))
        scores = max(
            float(np.abs(query[:, head] @ key[:, head // layer.head_group].T).sum(axis=0).max())
            for head in range(layer.n_heads)
        )
        return abs(float(call.scaling)) * scores, self._outputs(model, number, layer, maps)

    def _outputs(self, model: torch.nn.Module, number: int, layer: LayerHeads, maps: ProbedMaps) -> float:
        parts = self.blocks.blocks[number]
        weight, _ = output_map(model.get_submodule(layer.projection))
        # A branch may be scaled, channel by channel, before it is added.
        scale = channel_scale(self.kept[layer.projection], self.kept[parts.attention], parts)
        output = (weight * scale).reshape(layer.n_heads, layer.head_width, -1)
        whole = np.abs(maps.value @ output)
        return float(np.sqrt(whole.sum(axis=1).max() * whole.sum(axis=2).max()))


def _sees_all(seen: torch.Tensor, batch: ModelBatch) -> bool:
    """Whether every token sees all others, and none of the padding, which is no part of the text."""
    if batch.valid is None or batch.valid.shape[1] != seen.shape[0]:
        return bool(seen.all())
    tokens = batch.valid[0].to(seen.device)
    return bool((seen[tokens] == tokens).all())


def _turned(maps: ProbedMaps) -> bool:
    """Whether queries or keys of the same token differ from place to place."""
    return any(
        not np.allclose(one, other, rtol=0, atol=_SLACK * np.abs(one).max())
        for tables in (maps.query, maps.key)
        for one, other in itertools.pairwise(tables)
    )


def _without(reason: str) -> NetworkBound:
    return NetworkBound(reason=reason, steps=frozen(np.zeros(0)), limits=frozen(np.zeros(0)))
