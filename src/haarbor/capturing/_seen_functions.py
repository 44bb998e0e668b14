"""Every softmax and every fused attention that PyTorch computes, seen while it runs as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["SeenFunctions"]

_SOFTMAX = frozenset(
    {torch.softmax, torch.Tensor.softmax, torch.special.softmax, torch.nn.functional.softmax}
)

OnFunction = Callable[[tuple[Any, ...], dict[str, Any], Any], None]


class SeenFunctions(TorchFunctionMode):
    """Runs every function unchanged, and then reports those that compute attention.

    Parameters
    ----------
    on_softmax, on_sdpa, on_multihead : function of (args, kwargs, result)
        Told of softmax, ``scaled_dot_product_attention`` and ``multi_head_attention_forward``. What the
        latter calls inside is not told.
    """

    def __init__(self, on_softmax: OnFunction, on_sdpa: OnFunction, on_multihead: OnFunction) -> None:
        super().__init__()
        self._on_softmax, self._on_sdpa, self._on_multihead = on_softmax, on_sdpa, on_multihead

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in _SOFTMAX:
            self._on_softmax(args, kwargs, result)
        elif func is torch.nn.functional.scaled_dot_product_attention:
            self._on_sdpa(args, kwargs, result)
        elif func is torch.nn.functional.multi_head_attention_forward:
            self._on_multihead(args, kwargs, result)
        return result
