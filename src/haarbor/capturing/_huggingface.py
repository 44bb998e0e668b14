"""Hugging Face models: an attention function that records every call and changes no result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch

from haarbor.capturing._attention_call import AttentionCall, OnCall
from haarbor.errors import CaptureError

__all__ = ["Mode", "is_huggingface", "recorded_attention"]

Mode = Literal["faithful", "transparent"]

_NAME = "haarbor"


def is_huggingface(model: torch.nn.Module) -> bool:
    """Whether a model is one of transformers, or of a class made from one."""
    return any(cls.__module__.startswith("transformers.") for cls in type(model).__mro__)


@contextmanager
def recorded_attention(model: torch.nn.Module, mode: Mode, on_call: OnCall) -> Iterator[None]:
    """Report every attention call of a Hugging Face model while the block runs.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    mode : {"faithful", "transparent"}
        Whether the model computes its attention with its own eager function, or with SDPA.
    on_call : OnCall
        Called in the order in which the layers run.

    Raises
    ------
    CaptureError
        If the model cannot run in this mode.

    Notes
    -----
    Models of transformers look their attention function up by a name in their configuration. That name
    is changed while the block runs and restored afterwards, even after an exception; no code is patched.
    """
    from transformers import AttentionInterface
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    names = {id(module): name for name, module in model.named_modules()}

    def attention(
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        call = _attention_call(module, query, key, attention_mask, options, mode)
        name = names.get(id(module), type(module).__name__)
        if mode == "transparent":
            _require_sdpa_complete(name, call)
            output = ALL_ATTENTION_FUNCTIONS["sdpa"](module, query, key, value, attention_mask, **options)
        else:
            output = _eager_function(module)(module, query, key, value, attention_mask, **options)
        on_call(name, module, call, output[1])
        return output  # type: ignore[no-any-return]

    own = "sdpa" if mode == "transparent" else "eager"
    # The names are global in transformers, so every capture registers one of its own.
    name = f"{_NAME}_{mode}_{id(attention)}"
    AttentionInterface.register(name, attention)
    AttentionMaskInterface.register(name, ALL_MASK_ATTENTION_FUNCTIONS[own])
    before: list[tuple[Any, Any]] = []
    try:
        for config in _configurations(model):
            before.append((config, config._attn_implementation_internal))
            config._attn_implementation_internal = name
        yield
    finally:
        for config, implementation in before:
            config._attn_implementation_internal = implementation
        AttentionInterface._global_mapping.pop(name, None)
        AttentionMaskInterface._global_mapping.pop(name, None)


def _require_sdpa_complete(name: str, call: AttentionCall) -> None:
    left_out = "attention sinks" if call.sinks is not None else "soft-capping"
    if call.sinks is not None or call.softcap is not None:
        raise CaptureError(
            f"layer {name} uses {left_out}, which SDPA leaves out: with mode='transparent' the model "
            "would not be itself. Capture with mode='faithful'."
        )


def _configurations(model: torch.nn.Module) -> list[Any]:
    """Every distinct configuration in the model that names an attention function."""
    found: dict[int, Any] = {}
    for module in model.modules():
        waiting = [getattr(module, "config", None)]
        while waiting:
            config = waiting.pop()
            if config is None or id(config) in found or not hasattr(config, "_attn_implementation_internal"):
                continue
            found[id(config)] = config
            waiting += [getattr(config, name, None) for name in getattr(config, "sub_configs", {})]
    return list(found.values())


def _eager_function(module: torch.nn.Module) -> Callable[..., Any]:
    """The eager attention the model's own file defines or imports."""
    for cls in type(module).__mro__:
        function = getattr(sys.modules.get(cls.__module__), "eager_attention_forward", None)
        if function is not None:
            return function  # type: ignore[no-any-return]
    raise CaptureError(
        f"{type(module).__name__} has no eager attention to be faithful to; capture with mode='transparent'."
    )


def _attention_call(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    mask: torch.Tensor | None,
    options: dict[str, Any],
    mode: Mode,
) -> AttentionCall:
    scaling = options.get("scaling")
    if scaling is None:
        scaling = getattr(module, "scaling", None)
    if scaling is None:
        scaling = query.shape[-1] ** -0.5
    sinks = options.get("s_aux")
    if sinks is None:
        sinks = getattr(module, "sinks", None)
    causal = options.get("is_causal")
    if causal is None:
        causal = getattr(module, "is_causal", True)
    n_queries, n_keys = query.shape[2], key.shape[2]
    if mode == "transparent" and mask is None and causal and n_queries > 1:
        # Without a mask SDPA applies a causal one itself, aligned at the upper left corner.
        mask = torch.ones(n_queries, n_keys, dtype=torch.bool, device=query.device).tril()[None, None]
    return AttentionCall(
        query=query,
        key=key,
        scaling=float(scaling),
        bias=options.get("position_bias"),
        mask=mask,
        softcap=options.get("softcap"),
        sinks=sinks,
    )
