"""The attention of a real network as linear maps, one per head, as they are at one sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray
from haarbor.capturing import AttentionCall, recorded_calls
from haarbor.collapse._hidden_input import first_tensor, hidden_input, with_first_tensor, with_hidden_input
from haarbor.collapse._linearised_norm import LinearisedNorm, linearised_norm
from haarbor.collapse._network_blocks import BlockParts, NetworkBlocks
from haarbor.collapse._switched_off import switched_off
from haarbor.errors import CollapseError
from haarbor.pruning import ModelBatch, NetworkHeads, forward

__all__ = ["LinearisedLayer", "LinearisedNetwork", "linearised_network"]

# Probes are as many samples as the network is wide; so many at a time.
_PROBES = 128
_SLACK = 1e-3


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LinearisedLayer:
    """One layer: what it does to the tokens is linear once attention and scales of norms are held fixed."""

    kind: str
    attention: FloatArray
    """Shape (n_heads, n_tokens, n_tokens)."""
    value: FloatArray
    """Shape (n_heads, width, head_width)."""
    output: FloatArray
    """Shape (n_heads, head_width, width)."""
    value_bias: FloatArray
    """What the heads give besides, through biases before their output map, shape (n_tokens, width)."""
    output_bias: FloatArray
    """Bias of the output map, shape (width,)."""
    mlp: FloatArray
    """What the MLP added to the tokens of this sample, shape (n_tokens, width)."""
    first: LinearisedNorm
    second: LinearisedNorm | None
    """Norm after the MLP where the norms come last, else None."""

    def head(self, number: int, x: FloatArray) -> FloatArray:
        """What one head makes of the tokens, biases left out."""
        mapped = self.attention[number] @ (self._read(x) @ self.value[number]) @ self.output[number]
        return self._after(mapped)

    def heads(self, x: FloatArray) -> FloatArray:
        """What all heads together make of the tokens, biases left out; several tokens at a time."""
        values = self._read(x)[..., None, :, :] @ self.value
        mapped: FloatArray = (self.attention @ values @ self.output).sum(axis=-3)
        return self._after(mapped)

    def skip(self, x: FloatArray) -> FloatArray:
        """What the skips leave of the tokens: all, but for the scales of norms that come last."""
        return self._after(x)

    def mlp_source(self) -> FloatArray:
        """What the MLP brings in, as it leaves the layer."""
        return self.mlp if self.second is None else self.second.linear(self.mlp)

    def bias_sources(self) -> tuple[FloatArray, FloatArray]:
        """What biases bring in, as it leaves the layer: past the heads, and through them."""
        past = np.broadcast_to(self.output_bias, self.mlp.shape)
        if self.second is None:
            return np.array(past), self.value_bias
        own = self.first.linear(past) + self.first.bias
        return self.second.linear(own) + self.second.bias, self._after(self.value_bias)

    def _read(self, x: FloatArray) -> FloatArray:
        return x if self.second is not None else self.first.linear(x)

    def _after(self, x: FloatArray) -> FloatArray:
        return x if self.second is None else self.second.linear(self.first.linear(x))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LinearisedNetwork:
    """Layers of a network as linear maps at one sample."""

    layers: tuple[LinearisedLayer, ...]
    tokens: FloatArray
    """What enters the first layer, shape (n_tokens, width)."""
    final: FloatArray
    """What leaves the last layer, same shape."""

    @property
    def n_heads(self) -> int:
        """Heads of each layer."""
        return int(self.layers[0].attention.shape[0])


def linearised_network(
    model: torch.nn.Module, batch: ModelBatch, heads: NetworkHeads, blocks: NetworkBlocks, *, mlps: bool
) -> LinearisedNetwork:
    """Linear maps of all heads of a network at one sample.

    Parameters
    ----------
    model : torch.nn.Module
    batch : ModelBatch
        Of one sample.
    heads : NetworkHeads
    blocks : NetworkBlocks
    mlps : bool
        Whether the MLPs run; else they are switched off.

    Returns
    -------
    LinearisedNetwork

    Raises
    ------
    CollapseError
        If the parts do not give what the network gives: attention whose weights do not sum to 1, values
        that depend on other tokens, or norms of another kind.
    """
    seen = _Seen(heads, blocks)
    with (
        torch.no_grad(),
        switched_off(model, blocks, "as it is" if mlps else "no MLPs", on_state=seen.state),
        seen.watching(model),
    ):
        forward(model, batch)
    maps = _value_maps(model, batch, heads, blocks)
    layers = tuple(seen.layer(model, number, *maps[number]) for number in range(len(blocks)))
    return LinearisedNetwork(layers=layers, tokens=seen.states[0], final=seen.states[-1])


class _Seen:
    """What one forward pass of the sample shows."""

    def __init__(self, heads: NetworkHeads, blocks: NetworkBlocks) -> None:
        self.heads, self.blocks = heads, blocks
        self.states: list[FloatArray] = []
        self.attention: list[FloatArray] = []
        self.kept: dict[tuple[int, str], FloatArray] = {}

    def state(self, _depth: int, x: torch.Tensor) -> None:
        self.states.append(_plain(x))

    @contextmanager
    def watching(self, model: torch.nn.Module) -> Iterator[None]:
        with ExitStack() as hooks:
            for number, (parts, layer) in enumerate(zip(self.blocks.blocks, self.heads.layers, strict=True)):
                for name, what in (
                    (parts.first_norm, "first"),
                    (parts.second_norm, "second"),
                    (parts.attention, "attention"),
                    (parts.mlp, "mlp"),
                    (layer.projection, "projection"),
                ):
                    hook = model.get_submodule(name).register_forward_hook(
                        self._noted(number, what), with_kwargs=True
                    )
                    hooks.callback(hook.remove)
            hooks.enter_context(recorded_calls(model, self._on_call))
            yield

    def _noted(self, number: int, what: str) -> Callable[..., None]:
        def note(_module: Any, args: Any, kwargs: Any, answer: Any) -> None:
            given, found = hidden_input(args, kwargs), first_tensor(answer)
            if given is not None:
                self.kept[number, f"{what} given"] = _plain(given)
            if found is not None:
                self.kept[number, what] = _plain(found)

        return note

    def _on_call(self, _name: str, _module: Any, call: AttentionCall, _weights: Any) -> None:
        parts = [call.probabilities(call.logits(where), where) for where in call.head_chunks()]
        self.attention.append(torch.cat(parts, dim=1)[0].double().cpu().numpy())

    def layer(
        self, model: torch.nn.Module, number: int, value: FloatArray, value_bias: FloatArray
    ) -> LinearisedLayer:
        parts, layer = self.blocks.blocks[number], self.heads.layers[number]
        kept = {what: array for (place, what), array in self.kept.items() if place == number}
        if len(self.attention) != len(self.blocks) or not {"attention", "projection", "mlp"} <= set(kept):
            raise _failure(parts)
        attention = self.attention[number]
        weight, bias = _projection(model.get_submodule(layer.projection))
        # A branch may be scaled, channel by channel, before it is added.
        scale = _channel_scale(kept["projection"], kept["attention"], parts)
        output = (weight * scale).reshape(layer.n_heads, layer.head_width, -1)
        first = linearised_norm(
            model.get_submodule(parts.first_norm), kept["first given"], kept["first"], parts.first_norm
        )
        second = None
        read = kept["first"]
        if parts.kind == "norm last":
            read = self.states[number]
            second = linearised_norm(
                model.get_submodule(parts.second_norm),
                kept["second given"],
                kept["second"],
                parts.second_norm,
            )
        values = read @ value + value_bias[:, None, :]
        mixed = attention @ values
        told = kept["projection given"].reshape(read.shape[0], layer.n_heads, layer.head_width)
        if not np.allclose(mixed.transpose(1, 0, 2), told, rtol=0, atol=_SLACK * np.abs(told).max()):
            raise _failure(parts)
        entering = value_bias if second is not None else value_bias + first.bias @ value
        through = (attention.sum(axis=2)[:, :, None] * (entering[:, None, :] @ output)).sum(axis=0)
        return LinearisedLayer(
            kind=parts.kind,
            attention=attention,
            value=value,
            output=output,
            value_bias=through,
            output_bias=bias * scale,
            mlp=kept["mlp"],
            first=first,
            second=second,
        )


def _value_maps(
    model: torch.nn.Module, batch: ModelBatch, heads: NetworkHeads, blocks: NetworkBlocks
) -> list[tuple[FloatArray, FloatArray]]:
    """Map from the tokens that an attention reads to the values of its heads, with its bias.

    All tokens of a sample are made the same: then every mean of values is the value itself, whatever the
    attention is. So samples of unit vectors show the map row by row, for all layers in one pass.
    """
    width = _width(model, heads)
    rows: list[list[FloatArray]] = [[] for _ in heads.layers]
    for begin in range(0, width + 1, _PROBES):
        probes = np.arange(begin, min(begin + _PROBES, width + 1))
        # The last probe is zero, which shows the bias.
        vectors = torch.eye(width + 1)[torch.from_numpy(probes)][:, :width]
        with torch.no_grad(), _given(model, heads, blocks, vectors, rows):
            forward(model, _copies(batch, probes.size))
    found = []
    for layer, parts, block in zip(heads.layers, rows, blocks.blocks, strict=True):
        if not parts:
            raise _failure(block)
        table = np.concatenate(parts)
        bias = table[-1]
        value = (table[:-1] - bias).reshape(width, layer.n_heads, layer.head_width)
        found.append((value.transpose(1, 0, 2), bias.reshape(layer.n_heads, layer.head_width)))
    return found


@contextmanager
def _given(
    model: torch.nn.Module,
    heads: NetworkHeads,
    blocks: NetworkBlocks,
    vectors: torch.Tensor,
    rows: list[list[FloatArray]],
) -> Iterator[None]:
    """Make every attention read these vectors, one per sample, and note what its output map is given."""

    def filled(like: torch.Tensor) -> torch.Tensor:
        return vectors.to(like)[:, None, :].expand_as(like).contiguous()

    def before(_module: Any, args: Any, kwargs: Any) -> Any:
        x = hidden_input(args, kwargs)
        return None if x is None else with_hidden_input(args, kwargs, filled(x))

    def after(_module: Any, _args: Any, answer: Any) -> Any:
        x = first_tensor(answer)
        return None if x is None else with_first_tensor(answer, filled(x))

    def noting(number: int) -> Callable[..., None]:
        def note(_module: Any, args: Any) -> None:
            rows[number].append(_last_rows(args[0]))

        return note

    with ExitStack() as hooks:
        for number, (parts, layer) in enumerate(zip(blocks.blocks, heads.layers, strict=True)):
            if parts.kind == "norm last":
                module = model.get_submodule(parts.block)
                hooks.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)
            else:
                module = model.get_submodule(parts.first_norm)
                hooks.callback(module.register_forward_hook(after).remove)
            projection = model.get_submodule(layer.projection)
            hooks.callback(projection.register_forward_pre_hook(noting(number)).remove)
        yield


def _copies(batch: ModelBatch, n_copies: int) -> ModelBatch:
    """A sample so many times; of a text its first two tokens, which show as much as all."""
    tokens = batch.tokens
    inputs = {}
    for name, value in batch.inputs.items():
        is_text = tokens is not None and value.shape == tokens.shape
        part = value[:, :2] if is_text else value
        inputs[name] = part.expand(n_copies, *part.shape[1:]).contiguous()
    return ModelBatch(inputs=inputs, labels=None)


def _last_rows(given: torch.Tensor) -> FloatArray:
    """What the output map is given for the last token of every sample, which sees all tokens or itself."""
    found: FloatArray = given[:, -1].detach().double().cpu().numpy()
    return found


def _width(model: torch.nn.Module, heads: NetworkHeads) -> int:
    return int(_projection(model.get_submodule(heads.layers[0].projection))[0].shape[1])


def _projection(module: torch.nn.Module) -> tuple[FloatArray, FloatArray]:
    """Weight of a linear map as (input, output), and its bias."""
    weight: Any = module.weight
    matrix: FloatArray = weight.detach().double().cpu().numpy()
    matrix = matrix.T if isinstance(module, torch.nn.Linear) else matrix
    bias: Any = module.bias
    return matrix, (np.zeros(matrix.shape[1]) if bias is None else bias.detach().double().cpu().numpy())


def _channel_scale(projected: FloatArray, added: FloatArray, parts: BlockParts) -> FloatArray:
    squares = (projected**2).sum(axis=0)
    scale = np.where(squares > 0, (projected * added).sum(axis=0) / np.where(squares > 0, squares, 1), 1.0)
    if not np.allclose(projected * scale, added, rtol=0, atol=_SLACK * np.abs(added).max()):
        raise _failure(parts)
    return scale


def _plain(x: torch.Tensor) -> FloatArray:
    tokens = x[0] if x.dim() == 3 else x
    found: FloatArray = tokens.detach().double().cpu().numpy()
    return found


def _failure(parts: BlockParts) -> CollapseError:
    return CollapseError(
        f"the heads of {parts.block} must mix values of single tokens by weights that sum to 1, in front of "
        "one linear map that is called as a module; they do not, so paths cannot be told apart. Choose "
        "another model."
    )
