"""Hooks that see, and may change, what enters and leaves the output projections while a block runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from haarbor.pruning._network_heads import NetworkHeads

__all__ = ["ChangeInput", "ChangeOutput", "projection_hooks"]

ChangeInput = Callable[[int, torch.Tensor], torch.Tensor | None]
"""Function of a layer's number and the input of its projection; gives another input, or None."""
ChangeOutput = Callable[[int, torch.Tensor, torch.Tensor], torch.Tensor | None]
"""Function of a layer's number, input and output of its projection; gives another output, or None."""


@contextmanager
def projection_hooks(
    model: torch.nn.Module,
    heads: NetworkHeads,
    *,
    change_input: ChangeInput | None = None,
    change_output: ChangeOutput | None = None,
) -> Iterator[None]:
    """See, and change, what enters and leaves the output projections while the block runs.

    No weight is touched, and the hooks are gone when the block ends, even after an exception. Where
    one projection serves several layers, its calls are counted to tell the layers apart.

    Parameters
    ----------
    model : torch.nn.Module
    heads : NetworkHeads
    change_input, change_output : function, optional

    Notes
    -----
    ``nn.MultiheadAttention`` does not call its projection as a module. There, the attention function runs
    with the identity as its projection, which is exact, and the true projection is applied afterwards.
    """
    by_projection: dict[str, list[int]] = {}
    for number, layer in enumerate(heads.layers):
        by_projection.setdefault(layer.projection, []).append(number)
    modules = dict(model.named_modules())
    calls = dict.fromkeys(by_projection, 0)

    def begin(_module: torch.nn.Module, _args: Any) -> None:
        for name in calls:
            calls[name] = 0

    def current(name: str) -> int:
        numbers = by_projection[name]
        return numbers[min(calls[name], len(numbers) - 1)]

    def before(name: str) -> Callable[..., Any]:
        def enter(_module: torch.nn.Module, args: tuple[Any, ...]) -> Any:
            changed = None if change_input is None else change_input(current(name), args[0])
            return None if changed is None else (changed, *args[1:])

        return enter

    def after(name: str) -> Callable[..., Any]:
        def leave(_module: torch.nn.Module, args: tuple[Any, ...], output: torch.Tensor) -> Any:
            number = current(name)
            calls[name] += 1
            return None if change_output is None else change_output(number, args[0], output)

        return leave

    within_multihead: dict[int, str] = {}
    with ExitStack() as hooks:
        hooks.callback(model.register_forward_pre_hook(begin).remove)
        for name in by_projection:
            module = modules[name]
            if isinstance(modules.get(name.rpartition(".")[0]), torch.nn.MultiheadAttention):
                weight: Any = module.weight
                within_multihead[id(weight)] = name
                continue
            hooks.callback(module.register_forward_pre_hook(before(name)).remove)
            hooks.callback(module.register_forward_hook(after(name)).remove)
        if within_multihead:
            hooks.enter_context(_SplitMultihead(within_multihead, before, after))
        yield


_MULTIHEAD = torch.nn.functional.multi_head_attention_forward
_MULTIHEAD_SIGNATURE = inspect.signature(_MULTIHEAD)
_LINEAR: Any = torch.nn.functional.linear


class _SplitMultihead(TorchFunctionMode):
    """Runs the attention of nn.MultiheadAttention and its output projection one after the other."""

    def __init__(
        self,
        names: dict[int, str],
        before: Callable[[str], Callable[..., Any]],
        after: Callable[[str], Callable[..., Any]],
    ) -> None:
        super().__init__()
        self._names, self._before, self._after = names, before, after

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func is _LINEAR and len(args) > 1 and id(args[1]) in self._names:
            return self._projected(self._names[id(args[1])], *args, **kwargs)
        if func is not _MULTIHEAD:
            return func(*args, **kwargs)
        given = _MULTIHEAD_SIGNATURE.bind(*args, **kwargs).arguments
        weight, bias = given["out_proj_weight"], given["out_proj_bias"]
        name = self._names.get(id(weight))
        if name is None:
            return func(*args, **kwargs)
        identity = torch.eye(weight.shape[1], dtype=weight.dtype, device=weight.device)
        mixed, weights = func(**{**given, "out_proj_weight": identity, "out_proj_bias": None})
        # Batch first, as the functions see the heads of every other layer.
        batched = mixed.dim() == 3
        output = self._projected(name, mixed.transpose(0, 1) if batched else mixed, weight, bias)
        return (output.transpose(0, 1) if batched else output), weights

    def _projected(
        self, name: str, mixed: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
    ) -> torch.Tensor:
        # The functions do not use the module: they get the number of the layer.
        nothing: Any = None
        changed = self._before(name)(nothing, (mixed,))
        entering = mixed if changed is None else changed[0]
        # Where these blocks are nested, the outer ones see the projection through this call.
        output: torch.Tensor = _LINEAR(entering, weight, bias)
        other = self._after(name)(nothing, (entering,), output)
        return output if other is None else other
