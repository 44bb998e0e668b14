"""How a questionnaire stays within a limit of memory: what it holds, what it reads, how often."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from haarbor.engines import usable_cores
from haarbor.errors import SettingError
from haarbor.memory import bytes_text, process_memory
from haarbor.questionnaire._memory_limit import memory_limit

__all__ = ["STARTING_HEADS", "MemoryPlan", "memory_plan"]

# Code that is compiled or loaded on the way, and less where the compiler is loaded already.
_CODE, _MORE_CODE = 240 * 10**6, 80 * 10**6
_OUTER_PER_BLOCK = 8

STARTING_HEADS = 4
"""Heads of a block of the initial affinity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """What a questionnaire of a tensor will hold in memory."""

    limit: int
    """Bytes that may be taken, those of the process so far included."""
    is_streamed: bool
    """Whether the tensor is read from a temporary file, block by block, because it does not fit."""
    tensor_bytes: int
    """Bytes of the tensor."""
    peak_bytes: int
    """The most memory that is expected to be taken at once."""
    scratch_bytes: int
    """Room needed in the folder for temporary files."""
    threads: int
    """Threads; fewer than there are cores if their blocks would not fit."""
    piece_bytes: int
    """How much of the tensor is in memory while sums over folders are made."""
    in_place: bool = False
    """Whether the tensor is read from the file that it is in, and not copied."""

    def __str__(self) -> str:
        tensor, limit, peak = map(bytes_text, (self.tensor_bytes, self.limit, self.peak_bytes))
        if not self.is_streamed:
            return f"the tensor of {tensor} fits into {limit}: it is read once and held, {peak} at the most"
        room = bytes_text(self.scratch_bytes)
        way = f"it is read once into temporary files, up to {room}, and from there once for every tree"
        if self.in_place:
            way = f"it is read from its file, once for every tree, with temporary files of up to {room}"
        return (
            f"the tensor of {tensor} does not fit into {limit}: {way}, by {self.threads} "
            f"thread{'s' if self.threads > 1 else ''}; {peak} at the most"
        )

    def require_offered(self, tree: str, initial: str) -> None:
        """Raise if a tensor that is streamed cannot be organised in this way.

        Raises
        ------
        SettingError
        """
        if self.is_streamed and (tree == "haar" or initial != "cosine"):
            what = "tree='haar'" if tree == "haar" else f"initial={initial!r}"
            raise SettingError(
                f"memory must be enough for the whole tensor with {what}; the tensor takes "
                f"{bytes_text(self.tensor_bytes)}. Pass more memory, or choose tree='flexible' or 'binary' "
                "and initial='cosine'."
            )


def memory_plan(
    shape: Sequence[int],
    memory: int | str,
    *,
    itemsize: int = 4,
    heads_per_block: int = 1,
    in_place: bool = False,
) -> MemoryPlan:
    """Plan of a questionnaire of a (query, key, head) tensor within a limit of memory.

    Parameters
    ----------
    shape : (int, int, int)
    memory : int or str
        Bytes, or a text such as "2GB": what this process may take in all.
    itemsize : int, default 4
        Bytes of a number of the tensor.
    heads_per_block : int, default 1
        Heads that can only be read together: those of a layer, for a run.
    in_place : bool, default False
        Whether the tensor lies in a file from which it can be read as it is.

    Returns
    -------
    MemoryPlan

    Raises
    ------
    SettingError
        If the limit is too small for one block.

    See Also
    --------
    haarbor.organize : Trees of one tensor.

    Examples
    --------
    >>> memory_plan((64, 64, 12), "4GB").is_streamed
    False
    """
    limit = memory_limit(memory)
    n_queries, n_keys, n_heads = shape
    head = n_queries * n_keys
    squares = n_queries**2 + n_keys**2 + n_heads**2
    largest = max(n_queries, n_keys, n_heads) ** 2
    before = process_memory() + (_MORE_CODE if "numba" in sys.modules else _CODE)
    # Initial and latest affinities, two parts of the sums of each axis, and the matrices of one step.
    held = 8 * (4 * squares + 8 * largest)
    tensor = itemsize * head * n_heads
    cores = usable_cores()
    # The matrices of a block, its features (single items and folders), and a copy of some of them.
    block = 4 * itemsize * _OUTER_PER_BLOCK * max(head, n_heads * n_keys)
    whole = before + held + 3 * tensor + cores * block
    if whole <= limit:
        return MemoryPlan(
            limit=limit, is_streamed=False, tensor_bytes=tensor, peak_bytes=whole, scratch_bytes=0,
            threads=cores, piece_bytes=0,
        )  # fmt: skip
    # A layer as it is stored and as numbers, some heads of it, and one with its mask.
    reading = itemsize * head * (2 * heads_per_block + _OUTER_PER_BLOCK + 8)
    starting = 28 * STARTING_HEADS * head + 32 * largest
    per_thread = max(block, starting)
    least = before + max(reading, held + per_thread)
    if least > limit:
        raise SettingError(
            f"memory must hold the distances and one block, {bytes_text(least)} for {n_queries} queries, "
            f"{n_keys} keys and {n_heads} heads; found {bytes_text(limit)}. Pass memory="
            f"'{-(-least // 10**6)}MB' or more."
        )
    threads = max(1, min(cores, (limit - before - held) // per_thread))
    peak = max(before + reading, before + held + threads * per_thread)
    return MemoryPlan(
        limit=limit, is_streamed=True, tensor_bytes=tensor, peak_bytes=peak,
        scratch_bytes=(2 if in_place else 3) * tensor, threads=threads, piece_bytes=threads * per_thread,
        in_place=in_place,
    )  # fmt: skip
