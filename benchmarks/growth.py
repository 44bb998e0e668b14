"""How the time of ``haarbor.organize`` grows with tokens and heads, and the exponents that fit.

python benchmarks/growth.py
"""

import statistics
import time

import numpy as np
from attention_tensor import attention_tensor
from machine import machine_line

import haarbor as hb


def organize_seconds(tensor):
    """Median wall time of a few calls."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        hb.organize(tensor)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def fitted_exponent(sizes, times):
    """Slope of log time against log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def sweep(label, sizes, tensors):
    times = []
    for size, tensor in zip(sizes, tensors, strict=True):
        times.append(organize_seconds(tensor))
        print(f"  {label} {size:4d}: {times[-1]:.3f} s")
    print(f"{label}: exponent {fitted_exponent(sizes, times):.2f}, "
          f"over the larger half {fitted_exponent(sizes[-2:], times[-2:]):.2f}")  # fmt: skip


def main():
    print(machine_line())
    hb.organize(attention_tensor(32, 2, 4))
    for causal, kind in ((True, "causal"), (False, "bidirectional")):
        print(f"{kind} probabilities, float64, refine='latest', 3 iterations")
        tokens = [64, 128, 256, 512]
        sweep("tokens (128 heads)", tokens, (attention_tensor(n, 16, 8, causal=causal) for n in tokens))
        heads = [32, 64, 128, 256, 512]
        sweep("heads (256 tokens)", heads, (attention_tensor(256, n // 8, 8, causal=causal) for n in heads))


if __name__ == "__main__":
    main()
