"""The attention calls of any model, reported while it runs."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch

from haarbor.capturing._attention_call import OnCall
from haarbor.capturing._huggingface import Mode, is_huggingface, recorded_attention
from haarbor.capturing._torch_modules import recorded_modules

__all__ = ["recorded_calls"]


def recorded_calls(
    model: torch.nn.Module, on_call: OnCall, *, mode: Mode = "faithful"
) -> AbstractContextManager[None]:
    """Report every attention call of a model while the block runs.

    Parameters
    ----------
    model : torch.nn.Module
    on_call : OnCall
        Called in the order in which the layers run.
    mode : {"faithful", "transparent"}, default "faithful"
        For Hugging Face models: whether they compute their attention with their own eager function or with
        SDPA (``scaled_dot_product_attention``). Other models run as they are.

    Returns
    -------
    context manager
    """
    if is_huggingface(model):
        return recorded_attention(model, mode, on_call)
    return recorded_modules(model, on_call)
