"""Which modules of a model are running at this moment, from the outermost to the innermost."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch

__all__ = ["RunningModules"]

_ATTENTION = re.compile("att|mha|mla", re.IGNORECASE)
# A softmax may be called by a module inside the attention module, such as nn.Softmax or a product of its own.
_DEEPEST = 3


class RunningModules:
    """The modules whose forward has begun and not ended.

    Parameters
    ----------
    model : torch.nn.Module
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._running: list[tuple[str, torch.nn.Module]] = []

    def watching(self) -> ExitStack:
        """Hooks that keep the account, to be closed after the forward pass."""
        hooks = ExitStack()
        for name, module in self._model.named_modules():
            if _is_layer_of_torch(module):
                continue
            hooks.callback(module.register_forward_pre_hook(self._begin(name)).remove)
            hooks.callback(module.register_forward_hook(self._end, always_call=True).remove)
        return hooks

    def innermost(self) -> tuple[str, torch.nn.Module]:
        """Name and module that is running now; the model itself where none is."""
        return self._running[-1] if self._running else ("", self._model)

    def attention(self) -> tuple[str, torch.nn.Module] | None:
        """The innermost running module that is attention by the name of its class; None if none is."""
        for name, module in reversed(self._running[-_DEEPEST:]):
            if _ATTENTION.search(type(module).__name__):
                return name, module
        return None

    def inside(self, condition: Callable[[torch.nn.Module], bool]) -> bool:
        """Whether a running module fulfils a condition."""
        return any(condition(module) for _, module in self._running)

    def _begin(self, name: str) -> Callable[..., None]:
        def push(module: torch.nn.Module, _args: Any) -> None:
            self._running.append((name, module))

        return push

    def _end(self, _module: torch.nn.Module, _args: Any, _output: Any) -> None:
        self._running.pop()


def _is_layer_of_torch(module: torch.nn.Module) -> bool:
    """Whether a module is a linear map, a normalisation or the like, in which no attention is computed.

    Most modules of a model are; without hooks on them a small network is recorded much faster.
    """
    kind = type(module)
    return (
        kind.__module__.startswith("torch.nn.modules.")
        and not module._modules
        and not issubclass(kind, torch.nn.MultiheadAttention | torch.nn.Softmax)
    )
