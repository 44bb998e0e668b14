"""Time from the command to the first result, with kernels to compile and without.

python benchmarks/cold_start.py
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from machine import machine_line

from haarbor import datasets

ROUNDS = 3


def seconds(command, folder, cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": ""}
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return time.perf_counter() - begin


def main():
    print(machine_line())
    code = "import numpy as np, haarbor as hb; hb.organize(np.load('X.npy'))"
    commands = {
        "haarbor organize X.npy": lambda out: [
            sys.executable,
            "-m",
            "haarbor",
            "organize",
            "X.npy",
            "-o",
            out,
        ],
        "hb.organize(X) in a new process": lambda _out: [sys.executable, "-c", code],
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X = datasets.synthetic_attention(n_tokens=64, n_layers=4, heads_per_layer=6)
        np.save(folder / "X.npy", X.astype(np.float32))
        for what, command in commands.items():
            cold, warm = [], []
            for place in range(ROUNDS):
                cache = folder / f"{what.split()[0]}-{place}"
                cold.append(seconds(command(f"cold-{place}"), folder, cache))
                warm.append(seconds(command(f"warm-{place}"), folder, cache))
            print(
                f"{what}: {statistics.median(cold):.1f} s with kernels to compile, "
                f"{statistics.median(warm):.1f} s after that"
            )


if __name__ == "__main__":
    main()
