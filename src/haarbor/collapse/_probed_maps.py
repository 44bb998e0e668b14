"""The linear maps from tokens to queries, keys and values of heads, found by probing the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray
from haarbor.capturing import AttentionCall, recorded_calls
from haarbor.collapse._hidden_input import first_tensor, hidden_input, with_first_tensor, with_hidden_input
from haarbor.collapse._network_blocks import NetworkBlocks
from haarbor.collapse._output_map import output_map, unknown_heads
from haarbor.pruning import ModelBatch, NetworkHeads, forward

__all__ = ["ProbedMaps", "probed_maps"]

# Probes are as many samples as the network is wide; so many at a time.
_PROBES = 128
_PLACES = 2
"""Tokens of a probe: enough to see whether the place of a token makes a difference."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ProbedMaps:
    """Maps of the heads of one layer, from the tokens that its attention reads."""

    value: FloatArray
    """Shape (n_heads, width, head_width)."""
    value_bias: FloatArray
    """Shape (n_heads, head_width)."""
    query: tuple[FloatArray, ...]
    """Queries of unit tokens, shape (width + 1, n_heads, qk_width), the last row that of a token of zeros, at
    each of two places; () where the attention is not computed from queries and keys."""
    key: tuple[FloatArray, ...]
    """The same of the keys, of which neighbouring heads may share one."""


@dataclass(slots=True, eq=False)
class _Rows:
    value: list[FloatArray] = field(default_factory=list)
    query: list[FloatArray] = field(default_factory=list)
    key: list[FloatArray] = field(default_factory=list)


class _Seen(Exception):
    """All layers have run; what comes behind them need not."""


def probed_maps(
    model: torch.nn.Module, batch: ModelBatch, heads: NetworkHeads, blocks: NetworkBlocks
) -> list[ProbedMaps]:
    """Maps from the tokens that an attention reads to queries, keys and values of its heads.

    All tokens of a sample are made the same: then every mean of values is the value itself, whatever the
    attention is. So samples of unit vectors show the map row by row, for all layers in one pass.

    Parameters
    ----------
    model : torch.nn.Module
    batch : ModelBatch
        Of one sample.
    heads : NetworkHeads
    blocks : NetworkBlocks

    Returns
    -------
    list of ProbedMaps
        One per layer.

    Raises
    ------
    CollapseError
        If a layer did not run as it did when its parts were found.
    """
    width = int(output_map(model.get_submodule(heads.layers[0].projection))[0].shape[1])
    rows = [_Rows() for _ in heads.layers]
    for begin in range(0, width + 1, _PROBES):
        probes = np.arange(begin, min(begin + _PROBES, width + 1))
        # The last probe is zero, which shows the bias.
        vectors = torch.eye(width + 1)[torch.from_numpy(probes)][:, :width]
        given = _given(model, batch, heads, blocks, vectors, rows)
        with torch.no_grad(), given as sample, suppress(_Seen):
            forward(model, sample)
    found = []
    for layer, parts, block in zip(heads.layers, rows, blocks.blocks, strict=True):
        if not parts.value:
            raise unknown_heads(block)
        table = np.concatenate(parts.value)
        bias = table[-1]
        value = (table[:-1] - bias).reshape(width, layer.n_heads, layer.head_width)
        whole = all(sum(map(len, part)) == width + 1 for part in (parts.query, parts.key))
        query, key = (np.concatenate(part) if whole else None for part in (parts.query, parts.key))
        found.append(
            ProbedMaps(
                value=value.transpose(1, 0, 2),
                value_bias=bias.reshape(layer.n_heads, layer.head_width),
                query=() if query is None else tuple(query[:, :, place] for place in range(query.shape[2])),
                key=() if key is None else tuple(key[:, :, place] for place in range(key.shape[2])),
            )
        )
    return found


@contextmanager
def _given(
    model: torch.nn.Module,
    batch: ModelBatch,
    heads: NetworkHeads,
    blocks: NetworkBlocks,
    vectors: torch.Tensor,
    rows: list[_Rows],
) -> Iterator[ModelBatch]:
    """Make every attention read these vectors, one per sample, and note what it makes of them.

    Gives the sample to run the model on. Of a text it is the first two tokens, as often as there are
    vectors; an image runs once through what is in front of the layers, and tokens of the right number take
    the place of its own.
    """
    is_text = batch.tokens is not None
    calls = 0

    def filled(like: torch.Tensor) -> torch.Tensor:
        return vectors.to(like)[:, None, :].expand_as(like).contiguous()

    def before(_module: Any, args: Any, kwargs: Any) -> Any:
        x = hidden_input(args, kwargs)
        return None if x is None else with_hidden_input(args, kwargs, filled(x))

    def after(_module: Any, _args: Any, answer: Any) -> Any:
        x = first_tensor(answer)
        return None if x is None else with_first_tensor(answer, filled(x))

    def enter(_module: Any, args: Any, kwargs: Any) -> Any:
        x = hidden_input(args, kwargs)
        if x is None:
            return None
        return with_hidden_input(args, kwargs, x.new_zeros(len(vectors), _PLACES, x.shape[-1]))

    def leave(_module: Any, _args: Any, _answer: Any) -> None:
        raise _Seen

    def noting(number: int) -> Callable[..., None]:
        def note(_module: Any, args: Any) -> None:
            # The last token sees all tokens, or itself.
            rows[number].value.append(args[0][:, -1].detach().double().cpu().numpy())

        return note

    def on_call(_name: str, _module: Any, call: AttentionCall, _weights: Any) -> None:
        nonlocal calls
        query, key = getattr(call, "query", None), getattr(call, "key", None)
        if calls < len(rows) and query is not None and key is not None:
            rows[calls].query.append(query.detach().double().cpu().numpy())
            rows[calls].key.append(key.detach().double().cpu().numpy())
        calls += 1

    with ExitStack() as hooks:
        first = model.get_submodule(blocks.blocks[0].block)
        last = model.get_submodule(blocks.blocks[-1].block)
        if not is_text:
            hooks.callback(first.register_forward_pre_hook(enter, with_kwargs=True).remove)
        for number, (parts, layer) in enumerate(zip(blocks.blocks, heads.layers, strict=True)):
            if parts.kind == "norm last":
                module = model.get_submodule(parts.block)
                hooks.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)
            else:
                module = model.get_submodule(parts.first_norm)
                hooks.callback(module.register_forward_hook(after).remove)
            projection = model.get_submodule(layer.projection)
            hooks.callback(projection.register_forward_pre_hook(noting(number)).remove)
        hooks.callback(last.register_forward_hook(leave).remove)
        hooks.enter_context(recorded_calls(model, on_call))
        yield _copies(batch, len(vectors)) if is_text else batch


def _copies(batch: ModelBatch, n_copies: int) -> ModelBatch:
    """A text so many times; its first two tokens, which show as much as all."""
    tokens = batch.tokens
    inputs = {}
    for name, value in batch.inputs.items():
        is_text = tokens is not None and value.shape == tokens.shape
        part = value[:, :_PLACES] if is_text else value
        inputs[name] = part.expand(n_copies, *part.shape[1:]).contiguous()
    return ModelBatch(inputs=inputs, labels=None)
