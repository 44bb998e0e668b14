"""Head diagnostics written as loops over queries and keys, sharing no code with the package."""

import math


def slow_figures(A, mask, queries=None, keys=None):
    """Figures of one head; A and mask are square lists of rows, padding already cut away."""
    n = len(A)
    causal = n > 1 and not any(mask[i][j] for i in range(n) for j in range(i + 1, n))

    def mean(values):
        values = list(values)
        return sum(values) / len(values) if values else math.nan

    def share(chosen):
        rows = []
        for i in range(n):
            there = [j for j in range(n) if mask[i][j] and chosen(i, j)]
            if there:
                rows.append(sum(A[i][j] for j in there))
        return mean(rows)

    entropy = [-sum(a * math.log(a) for a in row if a > 0) for row in A]
    n_seen = [sum(map(bool, row)) for row in mask]
    received = {}
    for j in range(n):
        readers = [i for i in range(n) if mask[i][j]]
        if 2 * len(readers) >= n:
            received[j] = mean(A[i][j] for i in readers)
    found = {
        "attention_entropy": mean(entropy),
        "attention_entropy_normalised": mean(
            e / math.log(m) for e, m in zip(entropy, n_seen, strict=True) if m > 1
        ),
        "confidence": mean(max(row) for row in A),
        "mean_distance": mean(sum(A[i][j] * abs(i - j) for j in range(n)) for i in range(n)),
        "diagonal": share(lambda i, j: i == j),
        "previous_token": share(lambda i, j: j == i - 1),
        "next_token": math.nan if causal else share(lambda i, j: j == i + 1),
        "near": share(lambda i, j: abs(i - j) <= 3),
        "first_token": share(lambda i, j: j == 0),
        "last_token": math.nan if causal else share(lambda i, j: j == n - 1),
        "strongest_token": max(received.values()),
    }
    found["sink"] = float(found["first_token"] > 0.3)
    if queries is not None:
        found["same_token"] = share(lambda i, j: i != j and queries[i] == keys[j])
        found["after_same_token"] = share(lambda i, j: 0 < j < i and queries[i] == keys[j - 1])
    return found
