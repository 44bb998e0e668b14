"""A digest of a model's weights that depends on their values, not on where they are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from haarbor.capturing._first_line import first_line
from haarbor.engines import ordered_results, usable_cores
from haarbor.errors import CaptureError

__all__ = ["require_values", "weights_digest"]

# Bytes that are moved from a device and hashed at a time.
_PIECE_BYTES = 32 << 20
_PLAIN = (type(None), bool, int, float, str, bytes, torch.dtype)


def weights_digest(model: torch.nn.Module) -> str:
    """SHA-256 of the names, shapes, dtypes and values of everything in a checkpoint of the model.

    Parameters and persistent buffers count, whatever the order they were registered in and the device
    they lie on. Weights that several layers share are read once.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    str

    Raises
    ------
    CaptureError
        If a weight has no values that could be read; the message names it.

    See Also
    --------
    haarbor.load_model : A model by name or folder.

    Notes
    -----
    Weights in main memory are hashed in place; weights on another device are moved in pieces of 32 MiB.
    Tensors are hashed in parallel, each into a digest of its own, so the number of cores has no effect on
    the result.

    Examples
    --------
    >>> model = torch.nn.Linear(1, 1)
    >>> _ = model.weight.data.fill_(2), model.bias.data.fill_(3)
    >>> weights_digest(model)[:23]
    'sha256:a43db05bd8aa3f9c'
    """
    entries = dict(_entries(model))
    distinct = {id(value): value for value in entries.values() if isinstance(value, torch.Tensor)}
    named = {id(value): name for name, value in entries.items()}

    def digest(tensor: torch.Tensor) -> str:
        try:
            return _tensor_digest(tensor)
        # Tensor classes of other libraries may fail with any of these errors.
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            raise CaptureError(
                f"the weights of {type(model).__name__} must be readable, to tell it from another "
                f"checkpoint; {named[id(tensor)]} is not: {first_line(error)}. Load it as plain tensors."
            ) from error

    found = dict(zip(distinct, ordered_results(digest, distinct.values(), usable_cores()), strict=True))
    lines = sorted(
        [name, found[id(value)] if isinstance(value, torch.Tensor) else repr(value)]
        for name, value in entries.items()
    )
    return "sha256:" + hashlib.sha256(json.dumps(lines).encode()).hexdigest()


def require_values(model: torch.nn.Module) -> None:
    """Refuse a model that cannot run, because a weight has a shape and no values.

    Weights that accelerate fetches when their layer runs have values.

    Parameters
    ----------
    model : torch.nn.Module

    Raises
    ------
    CaptureError
        If there is such a weight; the message names it.
    """
    for prefix, module in model.named_modules():
        if _held_elsewhere(module) is not None:
            continue
        for name, value in (*module._parameters.items(), *module._buffers.items()):
            if value is not None and not is_lazy(value) and value.is_meta:
                raise _without_values(model, _plain_name(f"{prefix}.{name}" if prefix else name), value)


def _plain_name(name: str) -> str:
    """Name of a weight as it was before a layer was compiled."""
    return name.replace("_orig_mod.", "")


def _without_values(model: torch.nn.Module, name: str, value: torch.Tensor) -> CaptureError:
    found, advice = "is on the meta device", "Load the model whole, with device_map=None"
    if is_lazy(value):
        found, advice = "is not initialised", "Load its checkpoint before capturing it"
    return CaptureError(f"the weights of {type(model).__name__} must have values; {name} {found}. {advice}.")


def _entries(model: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    offloaded = {
        f"{prefix}.{name}" if prefix else name: (module, name)
        for prefix, module in model.named_modules(remove_duplicate=False)
        if _held_elsewhere(module) is not None
        for name in (*module._parameters, *module._buffers)
    }
    for name, value in model.state_dict(keep_vars=True).items():
        if isinstance(value, torch.Tensor) and not is_lazy(value) and value.is_meta and name in offloaded:
            module, own_name = offloaded[name]
            value = _held_elsewhere(module)[own_name]
        yield from _parts(model, _plain_name(name), value)


def _held_elsewhere(module: torch.nn.Module) -> Any:
    """Weights that accelerate keeps in memory or on disk until the layer runs; None where it does not."""
    hook: Any = getattr(module, "_hf_hook", None)
    for single in getattr(hook, "hooks", (hook,)):
        if getattr(single, "weights_map", None) is not None:
            return single.weights_map
    return None


def _parts(model: torch.nn.Module, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Tensors and plain values that an entry of a checkpoint consists of."""
    if isinstance(value, torch.Tensor):
        if is_lazy(value) or value.is_meta:
            raise _without_values(model, name, value)
        if value.is_quantized:
            yield from _quantised_parts(name, value)
        else:
            yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _parts(model, f"{name}[{key!r}]", item)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _parts(model, f"{name}[{place}]", item)
    elif isinstance(value, _PLAIN):
        yield name, value
    else:
        raise CaptureError(
            f"the weights of {type(model).__name__} must be tensors; {name} holds a {type(value).__name__}, "
            "which cannot be told from another. Load it without, or leave it out of its state_dict."
        )


def _quantised_parts(name: str, value: torch.Tensor) -> Iterator[tuple[str, Any]]:
    yield f"{name}.int_repr", value.int_repr()
    yield f"{name}.dtype", value.dtype
    if value.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        yield f"{name}.scale", value.q_scale()
        yield f"{name}.zero_point", value.q_zero_point()
    else:
        yield f"{name}.scale", value.q_per_channel_scales()
        yield f"{name}.zero_point", value.q_per_channel_zero_points()
        yield f"{name}.axis", value.q_per_channel_axis()


def _tensor_digest(tensor: torch.Tensor) -> str:
    found = hashlib.sha256(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
    dense = tensor.detach() if tensor.layout == torch.strided else tensor.detach().to_dense()
    flat = dense.resolve_conj().resolve_neg().reshape(-1)
    step = max(1, _PIECE_BYTES // flat.element_size())
    for begin in range(0, flat.numel(), step):
        found.update(flat[begin : begin + step].cpu().view(torch.uint8).numpy().data)
    return found.hexdigest()
