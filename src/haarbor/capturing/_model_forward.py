"""One forward pass of a model on named inputs."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from haarbor.capturing._compilation import without_compilation
from haarbor.capturing._first_line import first_line
from haarbor.errors import CaptureError

__all__ = ["model_forward", "placed_inputs"]


def model_forward(model: torch.nn.Module, inputs: Mapping[str, Any]) -> Any:
    """What a model gives for some inputs, on the device and in the precision of its weights.

    Parameters
    ----------
    model : torch.nn.Module
    inputs : mapping of str to tensor, array or any other argument
        By the name of their argument; the name is empty for a tensor that is the first argument. Integers
        keep their type. What is neither a tensor nor an array is passed on as it is; the model gets a copy
        of objects that it could change, such as a key-value cache.

    Returns
    -------
    object
        As the model's forward returns it. Compiled models run as they were written. Whether there is a
        key-value cache is left to the model: with and without one, some compute different masks.

    Raises
    ------
    CaptureError
        If an input cannot be copied, or the model cannot run without compilation.
    Exception
        Whatever the model itself raises.
    """
    placed = placed_inputs(model, inputs)
    first = [placed.pop("")] if "" in placed else []
    with without_compilation(model):
        return model(*first, **placed)


def placed_inputs(model: torch.nn.Module, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs on the device and in the precision of a model's weights; see `model_forward`."""
    weights: list[torch.Tensor] = list(model.parameters())
    device = next((weight.device for weight in weights if not weight.is_meta), torch.device("cpu"))
    dtype = next((weight.dtype for weight in weights if weight.is_floating_point()), torch.float32)
    return {name: _placed(name, value, device, dtype) for name, value in inputs.items()}


def _placed(name: str, value: Any, device: torch.device, dtype: torch.dtype) -> Any:
    if isinstance(value, np.ndarray):
        # An array that runs backwards has to be copied before torch takes it.
        value = torch.as_tensor(np.ascontiguousarray(value))
    if isinstance(value, torch.Tensor):
        return value.to(device, dtype) if value.is_floating_point() else value.to(device)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        # A model adds its keys to a cache: the next pass must not find them there.
        return copy.deepcopy(value)
    # Objects of other libraries refuse to be copied with any of these.
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        raise CaptureError(
            f"an input that the model may change must be one that can be copied; {name!r}, a "
            f"{type(value).__name__}, cannot: {first_line(error)}. Make it under torch.no_grad(), or leave "
            "it out."
        ) from error
