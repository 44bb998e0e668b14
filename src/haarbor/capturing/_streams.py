"""Which stream of attention a call belongs to: encoder, decoder, cross, or the only one."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["stream_of"]

_CROSS = ("encoder_attn", "encdecattention", "crossattention", "cross_attn", "multihead_attn")


def stream_of(name: str, module: torch.nn.Module, model: torch.nn.Module) -> str:
    """Name of the stream of an attention layer.

    Models with one kind of attention have the stream "self"; encoder-decoders have "encoder",
    "decoder" and "cross" (decoder queries, encoder keys).

    Parameters
    ----------
    name : str
        Qualified name of the layer.
    module, model : torch.nn.Module

    Returns
    -------
    {"self", "encoder", "decoder", "cross"}
    """
    plain = name.lower()
    if bool(getattr(module, "is_cross_attention", False)) or any(word in plain for word in _CROSS):
        return "cross"
    if not _is_encoder_decoder(model):
        return "self"
    parts = plain.split(".")
    # The outermost name decides: a BART encoder layer is in encoder.layers, not in the decoder.
    for part in parts:
        if "decoder" in part:
            return "decoder"
        if "encoder" in part:
            return "encoder"
    return "self"


def _is_encoder_decoder(model: torch.nn.Module) -> bool:
    config: Any = getattr(model, "config", None)
    if config is not None and getattr(config, "is_encoder_decoder", False):
        return True
    return isinstance(model, torch.nn.Transformer)
