"""How the time of ``haarbor.organize`` grows with tokens and heads, and the exponents that fit.

python benchmarks/growth.py
python benchmarks/growth.py --long   # matrices of up to 4,096 items, and what eigenpairs take there
"""

import statistics
import sys
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


def processor_seconds(work):
    """Processor time of one call, on all threads, and what it returns."""
    begin = time.process_time()
    answer = work()
    return time.process_time() - begin, answer


def long_axes():
    """Matrices of many items and 256 features, one iteration, in processor seconds."""
    rng = np.random.default_rng(0)
    sizes, whole, leading, everything = [512, 1024, 2048, 4096], [], [], []
    for size in sizes:
        topics = rng.normal(size=(24, 256))[rng.integers(0, 24, size)]
        matrix = np.exp(topics + 0.5 * rng.normal(size=(size, 256))).astype(np.float32)
        took, found = processor_seconds(
            lambda matrix=matrix: hb.organize(matrix, ("item", "feature"), n_iterations=1)
        )
        affinity = found.affinities["item"]
        whole.append(took)
        leading.append(processor_seconds(lambda affinity=affinity: hb.markov_spectrum(affinity))[0])
        # As many as LAPACK has to solve for all of them.
        everything.append(processor_seconds(lambda affinity=affinity: np.linalg.eigh(affinity))[0])
        print(f"  {size:4d} items: organize {whole[-1]:.2f} s, markov_spectrum {leading[-1]:.2f} s, "
              f"all eigenpairs {everything[-1]:.2f} s")  # fmt: skip
    for label, times in (("organize", whole), ("markov_spectrum", leading), ("all eigenpairs", everything)):
        print(f"{label}: exponent {fitted_exponent(sizes, times):.2f}, "
              f"over the larger half {fitted_exponent(sizes[-2:], times[-2:]):.2f}")  # fmt: skip


def main():
    print(machine_line())
    if "--long" in sys.argv:
        hb.organize(np.random.default_rng(0).random((64, 32), np.float32), ("item", "feature"))
        long_axes()
        return
    hb.organize(attention_tensor(32, 2, 4))
    for causal, kind in ((True, "causal"), (False, "bidirectional")):
        print(f"{kind} probabilities, float64, refine='latest', 3 iterations")
        tokens = [64, 128, 256, 512]
        sweep("tokens (128 heads)", tokens, (attention_tensor(n, 16, 8, causal=causal) for n in tokens))
        heads = [32, 64, 128, 256, 512]
        sweep("heads (256 tokens)", heads, (attention_tensor(256, n // 8, 8, causal=causal) for n in heads))


if __name__ == "__main__":
    main()
