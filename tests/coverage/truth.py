"""What a model computes as attention, seen by an observer that shares nothing with Haarbor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["Seen", "observed"]

# Attention that PyTorch computes inside one function: that it took place can be seen, its weights cannot.
_CLOSED = ("multi_head_attention_forward", "_native_multi_head_attention", "_transformer_encoder_layer_fwd")


@dataclass(frozen=True)
class Seen:
    """One softmax over keys, or what a fused product is a softmax of."""

    name: str
    """Innermost module that ran, by its qualified name."""
    weights: torch.Tensor
    """As computed; the last two axes are queries and keys. Empty where it is computed out of sight."""


@contextmanager
def observed(model: torch.nn.Module) -> Iterator[list[Seen]]:
    """Every softmax with three axes or more, and every fused product, of a model while the block runs."""
    running: list[str] = []
    hooks = []
    for name, module in model.named_modules():
        hooks.append(module.register_forward_pre_hook(_entered(running, name)))
        hooks.append(module.register_forward_hook(lambda *_: _left(running), always_call=True))
    seen: list[Seen] = []
    try:
        with _Observer(running, seen):
            yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _entered(running: list[str], name: str) -> Callable[..., None]:
    return lambda *_: running.append(name)


def _left(running: list[str]) -> None:
    running.pop()


class _Observer(TorchFunctionMode):
    def __init__(self, running: list[str], seen: list[Seen]) -> None:
        super().__init__()
        self._running, self._seen = running, seen

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "scaled_dot_product_attention":
            # While this method runs the observer is off, so that it does not see its own computation.
            self._seen.append(Seen(self._running[-1], _softmax_of_product(*args, **kwargs)))
        elif name in _CLOSED:
            self._seen.append(Seen(self._running[-1], torch.empty(0, 0, 0)))
        elif name == "softmax" and result.dim() >= 3 and _is_over_last(result, args, kwargs):
            self._seen.append(Seen(self._running[-1], result.detach().clone()))
        return result


def _is_over_last(result: torch.Tensor, args: Any, kwargs: Any) -> bool:
    axis = kwargs["dim"] if "dim" in kwargs else args[1]
    return axis in (-1, result.dim() - 1)


def _softmax_of_product(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """The weights of a fused product, by its documented formula, in float64."""
    del value
    assert dropout_p == 0.0
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    width = math.sqrt(query.shape[-1])
    scores = torch.einsum("...qd,...kd->...qk", query.double(), key.double())
    scores = scores / width if scale is None else scores * scale
    if is_causal:
        ahead = torch.arange(key.shape[-2])[None, :] > torch.arange(query.shape[-2])[:, None]
        scores[..., ahead] = -math.inf
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask.double()
    shifted = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return (shifted / shifted.sum(dim=-1, keepdim=True)).nan_to_num(0.0)
