"""Cores shared between a network and those who look at what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["network_threads"]


@contextmanager
def network_threads(threads: int) -> Iterator[None]:
    """Let networks compute on so many threads while the block runs.

    The layers of a small network are many short steps. Where the cores have other work, threads that share
    a step wait for each other, and most of the time goes there.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, min(before, threads)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
