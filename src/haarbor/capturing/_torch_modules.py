"""PyTorch models outside transformers: hooks on nn.MultiheadAttention, and every call of SDPA seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from haarbor.capturing._attention_call import AttentionCall, OnCall
from haarbor.errors import CaptureError

__all__ = ["recorded_modules"]


@contextmanager
def recorded_modules(model: torch.nn.Module, on_call: OnCall) -> Iterator[None]:
    """Report the attention calls of a PyTorch model while the block runs.

    Two ways cover the models people write: ``torch.nn.MultiheadAttention`` (and so
    ``nn.TransformerEncoder``) is hooked, and ``scaled_dot_product_attention``, which timm's vision
    transformers and most hand-written ones call, is seen wherever it is called. What the model
    computes is not touched; hooks are gone when the block ends, even after an exception.

    Parameters
    ----------
    model : torch.nn.Module
    on_call : OnCall
        Called in the order in which the layers run.

    Notes
    -----
    PyTorch switches off the fused fast path of ``nn.TransformerEncoderLayer`` when a module has
    hooks; its output then agrees with the fast path to rounding, not to the bit.
    """
    running: list[tuple[str, torch.nn.Module]] = []

    def begin(name: str) -> Callable[..., None]:
        def push(module: torch.nn.Module, _args: Any) -> None:
            running.append((name, module))

        return push

    def end(_module: torch.nn.Module, _args: Any, _output: Any) -> None:
        running.pop()

    def after_multihead(name: str) -> Callable[..., None]:
        def record(
            module: torch.nn.MultiheadAttention,
            args: tuple[Any, ...],
            kwargs: dict[str, Any],
            _output: Any,
        ) -> None:
            on_call(name, module, _multihead_call(module, args, kwargs), None)

        return record

    def on_sdpa(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        name, module = running[-1] if running else ("", model)
        on_call(name, module, _sdpa_call(*args, **kwargs), None)

    with ExitStack() as hooks:
        for name, module in model.named_modules():
            hooks.callback(module.register_forward_pre_hook(begin(name)).remove)
            hooks.callback(module.register_forward_hook(end, always_call=True).remove)
            if isinstance(module, torch.nn.MultiheadAttention):
                hooks.callback(module.register_forward_hook(after_multihead(name), with_kwargs=True).remove)
        hooks.enter_context(_SeenSdpa(on_sdpa))
        yield


class _SeenSdpa(TorchFunctionMode):
    """Reports every call of scaled_dot_product_attention, and then runs it unchanged."""

    def __init__(self, on_sdpa: Callable[[tuple[Any, ...], dict[str, Any]], None]) -> None:
        super().__init__()
        self._on_sdpa = on_sdpa

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        # Calls inside multi_head_attention_forward do not come here; the hook on the module reports them.
        if func is torch.nn.functional.scaled_dot_product_attention:
            self._on_sdpa(args, kwargs)
        return func(*args, **kwargs)


def _sdpa_call(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> AttentionCall:
    del value, dropout_p, enable_gqa
    query, key = _with_four_axes(query), _with_four_axes(key)
    bias = None
    if is_causal:
        shape = (query.shape[2], key.shape[2])
        attn_mask = torch.ones(shape, dtype=torch.bool, device=query.device).tril()
    if attn_mask is not None:
        attn_mask = _with_four_axes(attn_mask)
        if attn_mask.dtype != torch.bool:
            bias, attn_mask = _bias_and_mask(attn_mask)
    return AttentionCall(
        query=query,
        key=key,
        scaling=float(query.shape[-1] ** -0.5 if scale is None else scale),
        bias=bias,
        mask=attn_mask,
        softcap=None,
        sinks=None,
    )


def _multihead_call(
    module: torch.nn.MultiheadAttention, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> AttentionCall:
    names = ("query", "key", "value", "key_padding_mask", "need_weights", "attn_mask")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if module.bias_k is not None or module.add_zero_attn:
        raise CaptureError(
            "nn.MultiheadAttention with add_bias_kv or add_zero_attn attends to a key that is no token; "
            "such layers cannot be recorded. Build the model without these options."
        )
    query, key = given["query"], given["key"]
    batched = query.dim() == 3
    if not batched:
        query, key = query.unsqueeze(0), key.unsqueeze(0)
    elif not module.batch_first:
        query, key = query.transpose(0, 1), key.transpose(0, 1)
    packed: torch.Tensor | None = module.in_proj_weight
    if packed is not None:
        weight_q, weight_k, _ = packed.chunk(3)
    else:
        weight_q, weight_k = module.q_proj_weight, module.k_proj_weight
    bias_q, bias_k = (None, None) if module.in_proj_bias is None else module.in_proj_bias.chunk(3)[:2]
    linear = torch.nn.functional.linear
    heads = module.num_heads
    q = _split_heads(linear(query, weight_q, bias_q), heads)
    k = _split_heads(linear(key, weight_k, bias_k), heads)
    bias, mask = None, None
    attn_mask = given.get("attn_mask")
    if attn_mask is not None:
        if attn_mask.dim() == 3:
            attn_mask = attn_mask.view(q.shape[0], heads, *attn_mask.shape[1:])
        attn_mask = _with_four_axes(attn_mask)
        # nn.MultiheadAttention marks closed entries True, SDPA open ones.
        bias, mask = (None, ~attn_mask) if attn_mask.dtype == torch.bool else _bias_and_mask(attn_mask)
    padding = given.get("key_padding_mask")
    if padding is not None:
        padding = padding if batched else padding.unsqueeze(0)
        open_keys = ~padding if padding.dtype == torch.bool else padding == 0
        open_keys = open_keys[:, None, None, :]
        mask = open_keys if mask is None else mask & open_keys
    return AttentionCall(
        query=q, key=k, scaling=float(q.shape[-1] ** -0.5), bias=bias, mask=mask, softcap=None, sinks=None
    )


def _split_heads(projected: torch.Tensor, heads: int) -> torch.Tensor:
    batch, length, width = projected.shape
    return projected.view(batch, length, heads, width // heads).transpose(1, 2)


def _with_four_axes(tensor: torch.Tensor) -> torch.Tensor:
    while tensor.dim() < 4:
        tensor = tensor.unsqueeze(0)
    return tensor


def _bias_and_mask(additive: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Split an additive mask into a bias, where it is above -10,000, and a mask, False elsewhere."""
    valid = additive > -1e4
    bias = torch.where(valid, additive, torch.zeros_like(additive))
    return (bias if bool((bias != 0).any()) else None), (None if bool(valid.all()) else valid)
