"""Models that torch.compile changed, run as they were written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from haarbor.errors import CaptureError

__all__ = ["compiled_part", "uncompiled", "without_compilation"]


def uncompiled(model: Any) -> Any:
    """The model inside what ``torch.compile(model)`` gave; anything else as it is.

    Parameters
    ----------
    model : object

    Returns
    -------
    object

    Examples
    --------
    >>> layer = torch.nn.Linear(2, 2)
    >>> uncompiled(torch.compile(layer, backend="eager")) is layer
    True
    """
    while _is_wrapper(model):
        model = model._modules["_orig_mod"]
    return model


def compiled_part(model: torch.nn.Module) -> str | None:
    """Name of the first module that ``torch.compile`` changed; "" for the model itself, None for no module.

    Functions inside a module may be compiled all the same: nothing about the module tells.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    str or None
    """
    name: str
    for name, module in model.named_modules():
        forward = vars(module).get("forward")
        called = getattr(module, "_compiled_call_impl", None)
        if (
            _is_wrapper(module)
            or called is not None
            or getattr(forward, "_torchdynamo_orig_callable", None) is not None
        ):
            return name
    return None


@contextmanager
def without_compilation(model: torch.nn.Module) -> Iterator[None]:
    """Run everything that ``torch.compile`` changed as it was written, while the block runs.

    Compiled code calls neither hooks nor the attention functions that record. The stance of
    ``torch.compiler`` is restored when the block ends.

    Parameters
    ----------
    model : torch.nn.Module

    Raises
    ------
    CaptureError
        If a module is compiled and this PyTorch, older than 2.6, cannot run it otherwise.
    """
    # Compiling loads this package, which takes a second: without it nothing is compiled.
    if "torch._dynamo" not in sys.modules:
        yield
    elif hasattr(torch.compiler, "set_stance"):
        with torch.compiler.set_stance("force_eager"):
            yield
    else:
        part = compiled_part(model)
        if part is not None:
            raise CaptureError(
                f"a model must run without torch.compile to be recorded; {part or type(model).__name__} is "
                f"compiled, and PyTorch {torch.__version__} cannot run it otherwise. Pass the model as it "
                "was before torch.compile, or install PyTorch 2.6 or newer."
            )
        yield


def _is_wrapper(module: Any) -> bool:
    # The class is not imported, because that takes a second; "_orig_mod" itself may be found in a wrapper
    # that looks up names in the model that it holds.
    return type(module).__module__.startswith("torch._dynamo.") and "_orig_mod" in getattr(
        module, "_modules", {}
    )
