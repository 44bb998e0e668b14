"""Tensors that a model can be run on: dense, with values."""

from __future__ import annotations

import torch

from haarbor.errors import HaarborError

__all__ = ["require_dense"]


def require_dense(what: str, value: object, error: type[HaarborError]) -> None:
    """Refuse a sparse or nested tensor, and one that has a shape and no values.

    Parameters
    ----------
    what : str
        What `value` is, with which the message begins: "a batch".
    value : object
        Anything that is no tensor passes.
    error : type of HaarborError
        What is raised.
    """
    if not isinstance(value, torch.Tensor):
        return
    if value.layout != torch.strided or value.is_nested:
        kind = "nested" if value.is_nested else "sparse"
        advice = "Pad it with to_padded_tensor" if value.is_nested else "Convert it with to_dense()"
        raise error(f"{what} must be a dense tensor; found a {kind} one. {advice}.")
    if value.is_meta:
        raise error(
            f"{what} must hold values; found a tensor on the meta device, which has a shape and no values. "
            "Make it on the processor."
        )
