"""How long a questionnaire of a sparse matrix takes: words x documents, and where the time goes.

python benchmarks/sparse_matrix.py
"""

import cProfile
import pstats
import statistics
import time

import numpy as np
from machine import machine_line

import haarbor as hb

N_WORDS, N_DOCUMENTS, N_TOPICS = 1153, 1047, 12


def words_by_documents(seed=0):
    """Words of documents on a few topics, log of one plus their counts over what is usual for the word."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, N_WORDS + 1) ** 0.8
    topics = rng.gamma(0.15, size=(N_WORDS, N_TOPICS)) * frequency[:, None]
    topics /= topics.sum(axis=0)
    mixture = rng.dirichlet(np.full(N_TOPICS, 0.1), N_DOCUMENTS).T
    length = rng.lognormal(4.3, 0.5, N_DOCUMENTS)
    counts = rng.poisson(topics @ mixture * length)
    # Every word occurs, and every document has words.
    counts[np.arange(N_WORDS), rng.integers(0, N_DOCUMENTS, N_WORDS)] += 1
    counts[rng.integers(0, N_WORDS, N_DOCUMENTS), np.arange(N_DOCUMENTS)] += 1
    return np.log1p(counts / counts.mean(axis=1, keepdims=True))


def main():
    print(machine_line())
    X = words_by_documents()
    print(f"{X.shape[0]} x {X.shape[1]}, {100 * (X != 0).mean():.1f} % not zero, 3 iterations, float64")

    def organize():
        return hb.organize(X, axes=("word", "document"), alpha=1.0, beta=0.0, n_iterations=3)

    organize()
    wall, cpu = [], []
    for _ in range(5):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        organize()
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
    print(
        f"organize: {statistics.median(wall):.3f} s, best {min(wall):.3f}; CPU {statistics.median(cpu):.3f} s"
    )
    profile = cProfile.Profile()
    profile.runcall(organize)
    stats = pstats.Stats(profile)
    stats.sort_stats("cumulative").print_stats("haarbor|eigh|eigsh|matmul", 25)


if __name__ == "__main__":
    main()
