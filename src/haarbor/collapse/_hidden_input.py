"""The tokens among the arguments and answers of a module."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["first_tensor", "hidden_input", "with_first_tensor", "with_hidden_input"]

_NAMES = ("hidden_states", "x", "input")


def hidden_input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor | None:
    """The tokens that a module is called with: its first argument, or the one with a usual name."""
    if args:
        return args[0] if isinstance(args[0], torch.Tensor) and args[0].is_floating_point() else None
    named = next((kwargs[name] for name in _NAMES if name in kwargs), None)
    return named if isinstance(named, torch.Tensor) else None


def with_hidden_input(
    args: tuple[Any, ...], kwargs: dict[str, Any], tokens: torch.Tensor
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments with other tokens."""
    if args:
        return (tokens, *args[1:]), kwargs
    name = next(name for name in _NAMES if name in kwargs)
    return args, {**kwargs, name: tokens}


def first_tensor(answer: Any) -> torch.Tensor | None:
    """What a module answers, or the first of several answers; None if that is no tensor of numbers."""
    first = answer[0] if isinstance(answer, tuple | list) and answer else answer
    return first if isinstance(first, torch.Tensor) and first.is_floating_point() else None


def with_first_tensor(answer: Any, tokens: torch.Tensor) -> Any:
    """The same answer with other tokens."""
    if isinstance(answer, torch.Tensor):
        return tokens
    return type(answer)([tokens, *answer[1:]])
