"""The attention interface of transformers: every function that it hands out can be watched."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch

__all__ = ["Mode", "Watcher", "watched_interface"]

Mode = Literal["faithful", "transparent"]

Watcher = Callable[[str, torch.nn.Module, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""Function of (implementation, module, attention function, arguments, options) that calls the function, and
returns what it gave."""

_lock = threading.Lock()
_watchers: list[tuple[frozenset[int], Watcher]] = []


@contextmanager
def watched_interface(model: torch.nn.Module, mode: Mode, watcher: Watcher) -> Iterator[None]:
    """Have every attention function that a model asks transformers for called by `watcher`.

    Parameters
    ----------
    model : torch.nn.Module
        With models of transformers in it, or itself one.
    mode : {"faithful", "transparent"}
        Whether the models run their own eager function or SDPA meanwhile. Those that do not support SDPA
        run their eager function in both.
    watcher : Watcher

    Notes
    -----
    Models of transformers look their attention up by a name in their configuration, and some branch on
    that name. So it stays one of theirs, ``eager`` or ``sdpa``, and the function is wrapped on its way
    from the interface to the layer. All is as before when the block ends, even after an exception.
    """
    before: list[tuple[Any, Any]] = []
    entry = (frozenset(id(module) for module in model.modules()), watcher)
    with _lock:
        if not _watchers:
            _install()
        _watchers.append(entry)
    try:
        for config, supports_sdpa in _configurations(model):
            before.append((config, config._attn_implementation_internal))
            wanted = "sdpa" if mode == "transparent" and supports_sdpa else "eager"
            config._attn_implementation_internal = wanted
        yield
    finally:
        for config, implementation in before:
            config._attn_implementation_internal = implementation
        with _lock:
            _watchers.remove(entry)
            if not _watchers:
                _uninstall()


def _configurations(model: torch.nn.Module) -> list[tuple[Any, bool]]:
    """Every distinct configuration that names an attention function, and whether its models support SDPA."""
    found: dict[int, tuple[Any, bool]] = {}
    for module in model.modules():
        waiting = [(getattr(module, "config", None), bool(getattr(module, "_supports_sdpa", True)), True)]
        while waiting:
            config, supported, owned = waiting.pop()
            if config is None or not hasattr(config, "_attn_implementation_internal"):
                continue
            if id(config) in found:
                # A model around others speaks for its own configuration, not for theirs.
                if owned and not supported:
                    found[id(config)] = (config, False)
                continue
            found[id(config)] = (config, supported if owned else True)
            waiting += [
                (getattr(config, name, None), supported, False) for name in getattr(config, "sub_configs", {})
            ]
    return list(found.values())


_original: dict[str, Any] = {}


def _install() -> None:
    from transformers import AttentionInterface

    _original.update(
        {name: AttentionInterface.__dict__.get(name) for name in ("get_interface", "__getitem__")}
    )
    handed_out: Any = AttentionInterface.get_interface
    looked_up: Any = AttentionInterface.__getitem__

    def get_interface(self: Any, attn_implementation: Any, default: Any) -> Any:
        return _watched(attn_implementation, handed_out(self, attn_implementation, default))

    def getitem(self: Any, name: Any) -> Any:
        return _watched(name, looked_up(self, name))

    for name, function in (("get_interface", get_interface), ("__getitem__", getitem)):
        setattr(AttentionInterface, name, function)


def _uninstall() -> None:
    from transformers import AttentionInterface

    for name, function in _original.items():
        if function is None:
            delattr(AttentionInterface, name)
        else:
            setattr(AttentionInterface, name, function)
    _original.clear()


def _watched(implementation: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(function, "_is_watched", False):
        return function

    def attention(module: torch.nn.Module, *args: Any, **options: Any) -> Any:
        for modules, watcher in reversed(_watchers):
            if id(module) in modules:
                return watcher(str(implementation), module, function, args, options)
        return function(module, *args, **options)

    attention._is_watched = True  # type: ignore[attr-defined]
    return attention
