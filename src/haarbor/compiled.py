"""How kernels are compiled: once, with the code kept on disk where it can be written."""

# numba's cache carries no types.
# mypy: allow-untyped-calls

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys

from haarbor.compilation_notice import notify_compilation

__all__ = ["compiled"]

_functions: set[Callable[..., Any]] = set()
"""Every function that is compiled for this package."""


class _KeyedFiles(IndexDataCacheFile):
    """Files of one function, each named after the types it was compiled for.

    numba itself numbers them. Two processes that compile for different types at the same time would
    both write number 1, and a third process would load the code of one for the types of the other.
    """

    def __init__(self, cache_path: str, filename_base: str, source_stamp: Any) -> None:
        super().__init__(cache_path=cache_path, filename_base=filename_base, source_stamp=source_stamp)
        self._base = filename_base

    def save(self, key: Any, data: Any) -> None:
        overloads = self._load_index()
        overloads[key] = f"{self._base}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
        # The code is written before the index, so that what the index lists is on the disk.
        self._save_data(overloads[key], data)
        self._save_index(overloads)


class _Kept(FunctionCache):
    """Compiled code on disk; failures to read or write it are ignored, and the code is compiled again."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _KeyedFiles(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            # The method that this replaces first imports all that compiling needs, half of scipy with it.
            # Code that is compiled already needs only the routines it may call; compiling imports the rest.
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:
            # The file was cut short, or is of another version: the kernel is compiled again.
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:
            # The disk is full, or the folder has become read-only: the next process compiles again.
            self.disable()


def compiled(
    *, fastmath: bool | set[str] = False, inner: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Decorator that compiles a kernel, which runs without the interpreter lock, and keeps the code on disk.

    Where neither the package's folder, the home folder nor ``NUMBA_CACHE_DIR`` can be written, the
    kernel is compiled again in every process.

    Parameters
    ----------
    fastmath : bool or set of str, default False
        Freedoms given to the compiler, as numba names them.
    inner : bool, default False
        Whether only other kernels call it. It is then compiled and kept as a part of them, without the code
        by which Python would call it, which takes as long to compile as a short kernel.
    """

    def decorated(function: Callable[..., Any]) -> Any:
        _functions.add(function)
        # numba takes the last two, but its declared types do not know them.
        options: Any = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": inner}
        kernel: Any = njit(fastmath=fastmath, **options)(function)
        if hasattr(kernel, "enable_caching") and not inner:  # not with NUMBA_DISABLE_JIT=1
            # numba raises one of these if it finds no folder that it can write to.
            with suppress(RuntimeError, OSError):
                kernel._cache = _Kept(function)
        return kernel

    return decorated


class _Compilations(event.Listener):
    """Passes on that a kernel of ours is compiled, which numba tells for every function."""

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func in _functions:
            notify_compilation()

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Compilations())
