"""Attention modules made smaller: one function for each way of laying out queries, keys and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import PruningError
from haarbor.pruning._compensation import kept_channels
from haarbor.pruning._network_heads import LayerHeads
from haarbor.pruning._smaller_multihead import SmallerMultihead
from haarbor.zoo import RelativeAttention, VisionTransformer

__all__ = [
    "FEWER_HEADS",
    "JointAttention",
    "RepeatedHeads",
    "projection_like",
    "replace_module",
    "shrink_layer",
]

FEWER_HEADS = (
    "the Llama family and ViT of transformers (q_proj, k_proj, v_proj, o_proj), BERT and its kin (query, "
    "key, value), GPT-2 (c_attn), vision transformers of timm (qkv, proj), nn.MultiheadAttention and the "
    "networks of haarbor.zoo"
)
"""The layouts that can be made smaller, in words."""


class RepeatedHeads(nn.Module):
    """Linear map whose output heads are repeated, so that every query head has a copy of its own.

    Replaces the projection of keys or values where key-value heads are left with different numbers of
    query heads.

    Parameters
    ----------
    linear : nn.Linear
        Gives the distinct key-value heads.
    source : ndarray of int, shape (n_query_heads,)
        Which of them each query head takes.
    head_width : int
    """

    source: torch.Tensor

    def __init__(self, linear: nn.Linear, source: IntArray, head_width: int) -> None:
        super().__init__()
        self.linear = linear
        self.heads, self.head_width = tuple(source.tolist()), head_width
        channels = source[:, None] * head_width + np.arange(head_width)
        self.register_buffer("source", torch.as_tensor(channels.reshape(-1)), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Projected heads, one per query head, side by side in the last axis."""
        found: torch.Tensor = self.linear(x)[..., self.source]
        return found


class JointAttention(nn.Module):
    """Self-attention of `haarbor.zoo.VisionTransformer` with fewer heads than its width has room for.

    Parameters
    ----------
    query_key_value, output : nn.Linear
    n_heads, head_width : int
    """

    def __init__(self, query_key_value: nn.Linear, output: nn.Linear, n_heads: int, head_width: int) -> None:
        super().__init__()
        self.n_heads, self.head_width = n_heads, head_width
        self.query_key_value = query_key_value
        self.output = output

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attention of all tokens to all tokens, shape (batch, token, width)."""
        batch, length, _ = x.shape
        parts = self.query_key_value(x).view(batch, length, 3, self.n_heads, self.head_width)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v)
        joined: torch.Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return joined


def shrink_layer(
    model: nn.Module, layer: LayerHeads, removed: IntArray, weight: FloatArray, bias: FloatArray | None
) -> None:
    """Replace the attention of one layer by a smaller one, in place.

    Parameters
    ----------
    model : nn.Module
    layer : LayerHeads
    removed : ndarray of int
        Heads of the layer that go; not all of them.
    weight : ndarray, shape (n_outputs, width)
        Of the output projection; its channels of removed heads are left out.
    bias : ndarray, shape (n_outputs,), or None
        Of the output projection; None for none.

    Raises
    ------
    PruningError
        If no head would stay, or the layout of the layer is not known.
    """
    if removed.size >= layer.n_heads:
        raise PruningError(
            f"every layer must keep a head to be made smaller; {layer.attention} would lose all "
            f"{layer.n_heads}. Remove fewer."
        )
    attention = model.get_submodule(layer.attention)
    kept_heads: IntArray = np.setdiff1d(np.arange(layer.n_heads), removed)
    for layout in (_separate, _query_key_value, _gpt2, _timm, _multihead, _relative, _zoo_vision):
        if layout(model, attention, layer, kept_heads):
            break
    else:
        raise PruningError(
            f"{type(attention).__name__} ({layer.attention}) cannot be made smaller: Haarbor knows how for "
            f"{FEWER_HEADS}. The heads can still be removed by a mask."
        )
    projection = model.get_submodule(layer.projection)
    kept = kept_channels(layer, removed)
    replace_module(model, layer.projection, projection_like(projection, weight, bias, kept))
    for name in ("num_heads", "num_attention_heads", "n_heads"):
        holder = model.get_submodule(layer.attention)
        if isinstance(getattr(holder, name, None), int):
            setattr(holder, name, int(kept_heads.size))


def projection_like(
    old: nn.Module, weight: FloatArray, bias: FloatArray | None, kept: IntArray | None = None
) -> nn.Module:
    """Linear map of the kind of another one.

    Parameters
    ----------
    old : nn.Linear, or the Conv1D of GPT-2
        Whose device, precision and mode it takes.
    weight : ndarray, shape (n_outputs, width)
    bias : ndarray, shape (n_outputs,), or None
    kept : ndarray of int, optional
        Inputs that it has; all if not given.
    """
    untyped: Any = old
    columns = weight if kept is None else weight[:, kept]
    matrix = torch.as_tensor(columns.copy()).to(untyped.weight)
    n_outputs, n_inputs = columns.shape
    if isinstance(old, nn.Linear):
        new: Any = nn.Linear(n_inputs, n_outputs, bias=bias is not None).to(old.weight)
    else:
        # Conv1D of transformers: a linear map with its weight transposed and a bias always there.
        new, matrix = type(untyped)(n_outputs, n_inputs).to(untyped.weight), matrix.T.contiguous()
    with torch.no_grad():
        new.weight.copy_(matrix)
        if new.bias is not None:
            new.bias.copy_(torch.zeros(n_outputs) if bias is None else torch.as_tensor(bias.copy()))
    new.weight.requires_grad_(untyped.weight.requires_grad)
    return new.train(old.training)  # type: ignore[no-any-return]


def replace_module(model: nn.Module, name: str, new: nn.Module) -> None:
    """Put a module in the place of the one of a qualified name."""
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, new)


def _linears(module: nn.Module, names: tuple[str, ...]) -> bool:
    return all(isinstance(getattr(module, name, None), nn.Linear) for name in names)


def _fewer_outputs(linear: Any, kept: IntArray) -> nn.Linear:
    """Linear map with only some of its outputs."""
    index = torch.as_tensor(kept, device=linear.weight.device)
    new = nn.Linear(linear.in_features, kept.size, bias=linear.bias is not None).to(linear.weight)
    with torch.no_grad():
        new.weight.copy_(linear.weight[index])
        if linear.bias is not None:
            new.bias.copy_(linear.bias[index])
    return new.train(linear.training)


def _channels(heads: IntArray, width: int) -> IntArray:
    found: IntArray = (heads[:, None] * width + np.arange(width)).reshape(-1)
    return found


_Layout = Callable[[nn.Module, nn.Module, LayerHeads, IntArray], bool]


def _separate(_model: nn.Module, attention: nn.Module, layer: LayerHeads, kept: IntArray) -> bool:
    """q_proj, k_proj, v_proj with a width of their own, perhaps with key-value heads that are shared."""
    untyped: Any = attention
    if not _linears(attention, ("q_proj", "o_proj")) or not hasattr(attention, "head_dim"):
        return False
    given: list[Any] = [getattr(attention, name, None) for name in ("k_proj", "v_proj")]
    # Those of a network that was pruned before may be repeated already.
    linears: list[Any] = [part.linear if isinstance(part, RepeatedHeads) else part for part in given]
    if not all(isinstance(linear, nn.Linear) for linear in linears):
        return False
    width = layer.head_width
    if untyped.q_proj.out_features != layer.width or linears[1].out_features % width:
        return False
    if isinstance(given[0], RepeatedHeads) and isinstance(given[1], RepeatedHeads):
        shared: IntArray = np.array(given[0].heads)[kept]
        widths = [part.head_width for part in given]
    else:
        shared = kept // layer.head_group
        widths = [linear.out_features // (layer.n_heads // layer.head_group) for linear in linears]
    stays, source, counts = np.unique(shared, return_inverse=True, return_counts=True)
    untyped.q_proj = _fewer_outputs(untyped.q_proj, _channels(kept, width))
    keys, values = (
        _fewer_outputs(linear, _channels(stays, own)) for linear, own in zip(linears, widths, strict=True)
    )
    if np.unique(counts).size == 1:
        untyped.k_proj, untyped.v_proj = keys, values
        group = int(counts[0])
    else:
        # Key-value heads are left with different numbers of query heads: each query head gets its own copy.
        untyped.k_proj, untyped.v_proj = (
            RepeatedHeads(linear, source, own) for linear, own in zip((keys, values), widths, strict=True)
        )
        group = 1
    if hasattr(attention, "num_key_value_groups"):
        untyped.num_key_value_groups = group
    elif layer.head_group > 1:
        return False
    if hasattr(attention, "num_key_value_heads"):
        untyped.num_key_value_heads = kept.size // group
    return True


def _query_key_value(_model: nn.Module, attention: nn.Module, layer: LayerHeads, kept: IntArray) -> bool:
    untyped: Any = attention
    if not _linears(attention, ("query", "key", "value")) or not hasattr(attention, "attention_head_size"):
        return False
    channels = _channels(kept, layer.head_width)
    for name in ("query", "key", "value"):
        setattr(attention, name, _fewer_outputs(getattr(attention, name), channels))
    untyped.all_head_size = int(channels.size)
    return True


def _gpt2(_model: nn.Module, attention: nn.Module, layer: LayerHeads, kept: IntArray) -> bool:
    untyped: Any = attention
    if not hasattr(attention, "c_attn") or not hasattr(attention, "split_size"):
        return False
    old = untyped.c_attn
    channels = _channels(kept, layer.head_width)
    index = torch.as_tensor(np.concatenate([part * layer.width + channels for part in range(3)]))
    new = type(old)(index.numel(), old.weight.shape[0]).to(old.weight)
    with torch.no_grad():
        new.weight.copy_(old.weight[:, index])
        new.bias.copy_(old.bias[index])
    untyped.c_attn = new.train(old.training)
    untyped.split_size = int(channels.size)
    return True


def _timm(_model: nn.Module, attention: nn.Module, layer: LayerHeads, kept: IntArray) -> bool:
    untyped: Any = attention
    if not _linears(attention, ("qkv", "proj")) or not hasattr(attention, "attn_dim"):
        return False
    if not isinstance(getattr(attention, "norm", None), nn.Identity) or getattr(attention, "gate", None):
        return False
    channels = _channels(kept, layer.head_width)
    joint = np.concatenate([part * layer.width + channels for part in range(3)])
    untyped.qkv = _fewer_outputs(untyped.qkv, joint)
    untyped.attn_dim = int(channels.size)
    return True


def _multihead(model: nn.Module, attention: nn.Module, layer: LayerHeads, kept: IntArray) -> bool:
    if not isinstance(attention, nn.MultiheadAttention | SmallerMultihead):
        return False
    replace_module(model, layer.attention, SmallerMultihead(attention, kept).train(attention.training))
    # Nested tensors exist for the fast path alone, which a smaller layer does not take.
    parts = layer.attention.split(".")
    for length in range(len(parts)):
        around = model.get_submodule(".".join(parts[:length]))
        if isinstance(around, nn.TransformerEncoder):
            around.use_nested_tensor = False
    return True


def _relative(_model: nn.Module, attention: nn.Module, layer: LayerHeads, kept: IntArray) -> bool:
    if not isinstance(attention, RelativeAttention):
        return False
    channels = _channels(kept, layer.head_width)
    attention.query = _fewer_outputs(attention.query, channels)
    attention.key_value = _fewer_outputs(
        attention.key_value, np.concatenate([channels, layer.width + channels])
    )
    attention.distance = _fewer_outputs(attention.distance, channels)
    for name in ("content_bias", "distance_bias"):
        bias = getattr(attention, name)
        setattr(attention, name, nn.Parameter(bias.detach()[torch.as_tensor(kept)].clone()))
    return True


def _zoo_vision(model: nn.Module, attention: nn.Module, layer: LayerHeads, kept: IntArray) -> bool:
    untyped: Any = attention
    if not isinstance(model, VisionTransformer) or not _linears(attention, ("query_key_value", "output")):
        return False
    channels = _channels(kept, layer.head_width)
    joint = np.concatenate([part * layer.width + channels for part in range(3)])
    smaller = JointAttention(
        _fewer_outputs(untyped.query_key_value, joint), untyped.output, kept.size, layer.head_width
    )
    replace_module(model, layer.attention, smaller.train(attention.training))
    return True
