"""How the time of ``haarbor.organize`` grows with tokens and heads, and the exponents that fit.

python benchmarks/growth.py
python benchmarks/growth.py --long   # matrices of up to 4,096 items, and what eigenpairs take there
python benchmarks/growth.py --approximate 1024 2048 4096   # one head of so many tokens, all folders and 2,048
"""

import statistics
import sys
import time

import numpy as np
from attention_tensor import attention_tensor
from machine import machine_line

import haarbor as hb
from haarbor.engines import CpuEngine, SampledEngine


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


def approximate(sizes, n_folders=2048, most_exact=4096):
    """One causal head, query x key, one iteration: summed over all folders, and over some drawn at random."""
    rng = np.random.default_rng(0)
    exact, drawn, names = {}, {}, ("query", "key")
    for size in sizes:
        places = rng.normal(size=(size, 4)).astype(np.float32)
        matrix = np.exp(2 * places @ places[rng.permutation(size)].T) * np.tri(size, dtype=np.float32)
        matrix /= matrix.sum(axis=1, keepdims=True)
        drawn[size], found = processor_seconds(
            lambda matrix=matrix: hb.organize(matrix, names, n_iterations=1, approximate=n_folders)
        )
        line = f"  {size:5d} tokens: {n_folders} folders {drawn[size]:.1f} s"
        line += f" (error told {100 * found.approximation_error:.1f} %)"
        if size <= most_exact:
            exact[size], whole = processor_seconds(
                lambda matrix=matrix: hb.organize(matrix, names, n_iterations=1)
            )
            # The keys' last distances are along different trees of queries; compare along the same.
            trees = {"key": whole.trees["key"]}
            right = hb.tree_emd(matrix, trees, names)
            engine = SampledEngine(CpuEngine(), n_folders)
            estimate = hb.tree_emd(matrix, trees, names, engine=engine)
            pairs = right > 0
            error = np.abs(estimate - right)[pairs] / right[pairs]
            line += (
                f", all folders {exact[size]:.1f} s; distances off by {100 * np.sqrt((error**2).mean()):.1f} "
                f"% (told {100 * engine.relative_error:.1f} %), affinities by "
                f"{np.abs(found.affinities['query'] - whole.affinities['query']).mean():.3f} in the mean"
            )
        print(line, flush=True)
    for label, times in (("all folders", exact), ("drawn folders", drawn)):
        if len(times) > 1:
            print(f"{label}: exponent {fitted_exponent(list(times), list(times.values())):.2f}")


def main():
    print(machine_line())
    if "--approximate" in sys.argv:
        place = sys.argv.index("--approximate") + 1
        hb.organize(np.random.default_rng(0).random((64, 32), np.float32), ("item", "feature"))
        approximate([int(word) for word in sys.argv[place:]] or [1024, 2048, 4096, 8192, 16384])
        return
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
