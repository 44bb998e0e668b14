"""Synthetic attention for benchmarks: topic similarity plus a positional bias, a random map a head."""

import numpy as np


def attention_tensor(tokens=256, layers=16, heads=8, *, width=64, causal=True, logits=False, seed=0):
    """Query x key x head array, heads in layer-major order."""
    rng = np.random.default_rng(seed)
    tensor = np.zeros((tokens, tokens, layers * heads))
    position = np.arange(tokens)
    topics = rng.integers(0, 6, tokens)
    embedding = rng.normal(size=(6, width))[topics] + 0.5 * rng.normal(size=(tokens, width))
    for head in range(layers * heads):
        mixing = rng.normal(size=(width, width)) / np.sqrt(width)
        scale = rng.uniform(0.3, 3)
        score = scale * (embedding @ mixing @ embedding.T) / np.sqrt(width)
        offset = rng.integers(0, 8)
        pull = rng.uniform(0, 3)
        score = score - pull * np.abs(position[:, None] - position[None, :] - offset) / rng.uniform(4, 64)
        if logits:
            tensor[:, :, head] = score
            continue
        if causal:
            score = np.where(position[None, :] <= position[:, None], score, -1e9)
        weight = np.exp(score - score.max(axis=1, keepdims=True))
        tensor[:, :, head] = weight / weight.sum(axis=1, keepdims=True)
    return tensor
