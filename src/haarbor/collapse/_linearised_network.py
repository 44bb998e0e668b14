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
from haarbor.collapse._hidden_input import first_tensor, hidden_input
from haarbor.collapse._linearised_norm import LinearisedNorm, linearised_norm
from haarbor.collapse._network_blocks import NetworkBlocks
from haarbor.collapse._output_map import channel_scale, output_map, unknown_heads
from haarbor.collapse._probed_maps import probed_maps
from haarbor.collapse._switched_off import switched_off
from haarbor.pruning import ModelBatch, NetworkHeads, forward

__all__ = ["LinearisedLayer", "LinearisedNetwork", "linearised_network"]

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
    maps = probed_maps(model, batch, heads, blocks)
    layers = tuple(
        seen.layer(model, number, maps[number].value, maps[number].value_bias)
        for number in range(len(blocks))
    )
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
            raise unknown_heads(parts)
        attention = self.attention[number]
        weight, bias = output_map(model.get_submodule(layer.projection))
        # A branch may be scaled, channel by channel, before it is added.
        scale = channel_scale(kept["projection"], kept["attention"], parts)
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
            raise unknown_heads(parts)
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


def _plain(x: torch.Tensor) -> FloatArray:
    tokens = x[0] if x.dim() == 3 else x
    found: FloatArray = tokens.detach().double().cpu().numpy()
    return found
