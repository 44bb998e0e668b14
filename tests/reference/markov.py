"""Theory 1.2, by a dense eigenproblem of the matrix as it is written there."""

import math

import numpy as np


def symmetric_chain(W):
    """The matrix S, and s."""
    n = len(W)
    W = [[W[i][j] if W[i][j] > 1e-8 else 0.0 for j in range(n)] for i in range(n)]
    r = [sum(row) for row in W]
    P = [[W[i][j] / (r[i] * r[j]) for j in range(n)] for i in range(n)]
    s = [math.sqrt(sum(row)) for row in P]
    return np.array([[P[i][j] / (s[i] * s[j]) for j in range(n)] for i in range(n)]), np.array(s)


def markov_spectrum(W, k=None):
    """Absolute eigenvalues, decreasing, and psi as columns; for a connected affinity."""
    S, _ = symmetric_chain(W)
    n = len(S)
    k = min(12, n) if k is None else k
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    order = sorted(range(n), key=lambda j: -abs(values[j]))[:k]
    first = vectors[:, order[0]]
    psi = np.array([[vectors[i, j] / first[i] for j in order] for i in range(n)])
    return [abs(values[j]) for j in order], psi
