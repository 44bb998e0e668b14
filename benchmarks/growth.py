"""How the time of ``haarbor.organize`` grows with tokens and heads, and the exponents that fit.

python benchmarks/growth.py
python benchmarks/growth.py --long   # matrices of up to 4,096 items, and what eigenpairs take there
python benchmarks/growth.py --approximate   # folders drawn at random against all of them; tokens may follow
python benchmarks/growth.py --tokens   # questionnaires of two heads, exact and approximate; tokens may follow
"""

import resource
import statistics
import subprocess
import sys
import time

import numpy as np
from attention_tensor import attention_tensor
from machine import machine_line

import haarbor as hb
from haarbor.engines import CpuEngine, SampledEngine
from haarbor.trees import halved_tree


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


def peak_gb():
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def causal_attention(size, rng):
    """Probabilities of one causal head: each token near to some others in a space of four dimensions."""
    places = rng.normal(size=(size, 4)).astype(np.float32)
    matrix = np.exp(2 * places @ places[rng.permutation(size)].T) * np.tri(size, dtype=np.float32)
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


def approximate(sizes, n_folders=2048, most_exact=8192):
    """Distances between the queries of one causal head: over all folders of keys, and over some drawn."""
    rng = np.random.default_rng(0)
    exact, drawn, names = {}, {}, ("query", "key")
    for size in sizes:
        matrix = causal_attention(size, rng)
        trees = {"key": halved_tree(size)}
        engine = SampledEngine(CpuEngine(), n_folders)
        drawn[size], estimate = processor_seconds(
            lambda matrix=matrix, trees=trees, engine=engine: hb.tree_emd(matrix, trees, names, engine=engine)
        )
        print(
            f"  {size:5d} tokens: {n_folders} folders {drawn[size]:.1f} s, "
            f"error told {100 * engine.relative_error:.1f} %, {peak_gb():.2f} GB at the most",
            flush=True,
        )
        # Of 16,384 tokens that would take 13 GB and some minutes.
        if size > most_exact:
            continue
        exact[size], right = processor_seconds(
            lambda matrix=matrix, trees=trees: hb.tree_emd(matrix, trees, names, engine=CpuEngine())
        )
        pairs = rng.integers(0, size, (2, 100_000))
        pairs = pairs[:, right[tuple(pairs)] > 0]
        error = estimate[tuple(pairs)] / right[tuple(pairs)] - 1
        print(
            f"    all folders {exact[size]:.1f} s, found {100 * np.median(np.abs(error)) / 0.6745:.1f} %, "
            f"{peak_gb():.2f} GB at the most",
            flush=True,
        )
    for label, times in (("all folders", exact), ("drawn folders", drawn)):
        if len(times) > 1:
            print(f"{label}: exponent {fitted_exponent(list(times), list(times.values())):.2f}")


def approximate_questionnaire():
    """A whole questionnaire of a network, exact and approximate."""
    tensor = attention_tensor(512, 4, 8).astype(np.float32)
    took, right = processor_seconds(lambda: hb.organize(tensor, start="order"))
    print(f"  512 tokens, 32 heads, 3 iterations: all folders {took:.1f} s")
    for n_folders in (1024, 4096, 16384):
        took, found = processor_seconds(lambda n=n_folders: hb.organize(tensor, start="order", approximate=n))
        away = {axis: hb.partition_distance(found.trees[axis], right.trees[axis]) for axis in right.axes}
        print(
            f"  {n_folders} folders {took:.1f} s, error told {100 * found.approximation_error:.1f} %, "
            "trees away " + ", ".join(f"{axis} {distance:.3f}" for axis, distance in away.items()),
            flush=True,
        )


def whole_questionnaires(sizes, n_folders=2048):
    """Questionnaires of two heads in one iteration, each in a process of its own."""
    for given in ("", str(n_folders)):
        times = []
        for size in sizes:
            command = [sys.executable, __file__, "--child", str(size), *([given] if given else [])]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            times.append(float(said.split()[0]))
            print(f"  {size:5d} tokens, {given or 'all'} folders: {said.strip()}", flush=True)
        print(f"{given or 'all'} folders: exponent {fitted_exponent(sizes, times):.2f}, "
              f"over the larger half {fitted_exponent(sizes[-2:], times[-2:]):.2f}")  # fmt: skip


def one_questionnaire(size, n_folders):
    rng = np.random.default_rng(0)
    hb.organize(causal_attention(48, rng)[:, :, None].repeat(2, axis=2), start="order", n_iterations=1)
    X = np.stack([causal_attention(size, rng) for _ in range(2)]).transpose(1, 2, 0)
    took, found = processor_seconds(
        lambda: hb.organize(X, start="order", n_iterations=1, approximate=n_folders)
    )
    error = found.approximation_error
    told = "" if error is None else f", error told {100 * error:.1f} %"
    print(f"{took:.1f} s, {peak_gb():.2f} GB at the most{told}")


def main():
    if "--child" in sys.argv:
        size, *more = map(int, sys.argv[2:])
        one_questionnaire(size, more[0] if more else None)
        return
    print(machine_line())
    if "--tokens" in sys.argv:
        words = sys.argv[sys.argv.index("--tokens") + 1 :]
        whole_questionnaires([int(word) for word in words] or [1024, 2048, 4096])
        return
    if "--approximate" in sys.argv:
        place = sys.argv.index("--approximate") + 1
        hb.organize(np.random.default_rng(0).random((64, 32), np.float32), ("item", "feature"))
        approximate_questionnaire()
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
