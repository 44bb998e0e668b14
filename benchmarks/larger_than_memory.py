"""A tensor on disk that is many times larger than the memory it is organised in.

Run: python benchmarks/larger_than_memory.py [--heads 1200] [--tokens 2048] [--window 256] [--memory 2GB]

Writes the attention of made-up heads, causal and within a window of tokens, as float32 to a file in FOLDER
(20 GB by default, and up to twice as much again for temporary files), organises the mapped file in a process
of its own, and tells its time, its peak of resident memory, and what it read and wrote.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def write(place: Path, n_heads: int, n_tokens: int, window: int) -> None:
    """Heads of a few kinds, each with a taste for some topics of the keys and for nearby tokens."""
    shape = (n_heads, n_tokens, n_tokens)
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 12, n_tokens)
    query = np.arange(n_tokens)[:, None]
    key = query - np.arange(window)
    seen = key >= 0
    kinds = rng.normal(size=(16, 12, 12))
    with place.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)
        for head in range(n_heads):
            score = 2 * kinds[head % 16][topic[query], topic[key]] + 0.5 * rng.normal(size=key.shape)
            weight = np.where(seen, np.exp(score - np.arange(window) / rng.uniform(20, window)), 0)
            matrix = np.zeros(shape[1:], np.float32)
            matrix[np.broadcast_to(query, key.shape)[seen], key[seen]] = (
                weight / weight.sum(axis=1, keepdims=True)
            )[seen]
            file.write(matrix)


def organized(place: Path, memory: str, n_iterations: int) -> None:
    import haarbor as hb

    tensor = np.load(place, mmap_mode="r").transpose(1, 2, 0)
    begin, begin_cpu = time.perf_counter(), time.process_time()
    org = hb.organize(tensor, memory=memory, on_plan=print, n_iterations=n_iterations)
    wall, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    said = Path("/proc/self/io").read_text() + Path("/proc/self/status").read_text()
    read, written, peak = (
        int(re.search(rf"{word}:\s+(\d+)", said)[1]) for word in ("rchar", "wchar", "VmHWM")
    )
    print(f"{tensor.shape} {tensor.dtype}, {place.stat().st_size / 1e9:.1f} GB, {n_iterations} iterations")
    print(f"{wall:.0f} s, {cpu:.0f} processor seconds, {peak * 1024 / 1e6:.0f} MB of memory at the most")
    print(
        f"read {read / 1e9:.1f} GB, {read / tensor.nbytes:.1f} times the tensor; wrote {written / 1e9:.1f} GB"
    )
    print("folders:", {axis: tree.pruned.n_folders for axis, tree in org.trees.items()})


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--heads", type=int, default=1200)
    asked.add_argument("--tokens", type=int, default=2048)
    asked.add_argument("--window", type=int, default=256)
    asked.add_argument("--memory", default="2GB")
    asked.add_argument("--iterations", type=int, default=1)
    asked.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    asked.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.child:
        organized(given.child, given.memory, given.iterations)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        place = Path(folder) / "attention.npy"
        write(place, given.heads, given.tokens, given.window)
        subprocess.run(
            [sys.executable, __file__, "--child", place, "--memory", given.memory,
             "--iterations", str(given.iterations)],
            check=True, env={**os.environ, "TMPDIR": folder},
        )  # fmt: skip


if __name__ == "__main__":
    main()
