"""Compiles the kernels that a command needs last, in a process of its own, while it waits for the first."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["kernels_ahead", "main", "start_compiling"]


@contextmanager
def kernels_ahead() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Give a list for the process that compiles ahead; it is ended with the block.

    numba compiles one kernel at a time in a process, so a second core has nothing to do. What the other
    process compiles it keeps on disk, where this one finds it. If anything goes wrong there, this one
    compiles everything itself.
    """
    started: list[subprocess.Popen[bytes]] = []
    try:
        yield started
    finally:
        for process in started:
            # Code is kept in whole files, so nothing is spoilt by an end at any moment.
            process.kill()
            process.wait()


def start_compiling(started: list[subprocess.Popen[bytes]]) -> None:
    """Begin to compile ahead, where processes can be started."""
    nowhere = subprocess.DEVNULL
    with suppress(OSError):
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "haarbor.cli._kernels_ahead"],
                stdin=nowhere,
                stdout=nowhere,
                stderr=nowhere,
            )
        )


def main() -> None:
    """Call what uses the kernels on small arrays, those that a questionnaire reaches last first."""
    import numpy as np

    from haarbor.engines import CpuEngine
    from haarbor.transport import tree_emd
    from haarbor.trees import halved_tree, row_distances
    from haarbor.wavelets import head_entropy

    row_distances(np.eye(4, dtype=np.float32), CpuEngine())
    tensor = np.arange(60, dtype=np.float32).reshape(4, 5, 3)
    trees = {axis: halved_tree(n) for axis, n in zip(("query", "key", "head"), tensor.shape, strict=True)}
    head_entropy(tensor, trees)
    for axis in trees:
        tree_emd(tensor, {name: tree for name, tree in trees.items() if name != axis})


if __name__ == "__main__":
    main()
