import numpy as np
import pytest

import haarbor as hb
from haarbor.transport import FolderMeans, ScratchTensor, StreamedFolderMeans
from tests.samples import random_tree

AXES = ("query", "key", "head")
EXPONENTS = {"query": (0.5, 1.0), "key": (0.0, 0.5), "head": (1.0, 0.0)}


def streamed(X, piece_bytes):
    """Folder means of X (query, key, head) from a file."""
    by_head = X.transpose(2, 0, 1)
    file = ScratchTensor(by_head.shape, X.dtype)
    file.write((0, 0, 0), by_head)
    present = {"head": (by_head != 0).any(axis=1), "query": (X != 0).any(axis=2)}
    return StreamedFolderMeans(file, AXES, present, piece_bytes)


@pytest.mark.parametrize("piece_bytes", [1, 3000, 10**7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("causal", [True, False])
def test_sums_are_those_of_the_tensor_in_memory_to_the_last_bit(rng, causal, dtype, piece_bytes):
    X = rng.normal(size=(13, 11, 21)).astype(dtype)
    if causal:
        X *= np.tri(13, 11, dtype=dtype)[:, :, None]
    held, read = FolderMeans(X, AXES), streamed(X, piece_bytes)
    for _ in range(2):
        trees = {axis: random_tree(rng, n) for axis, n in zip(AXES, X.shape, strict=True)}
        for axis in AXES:
            assert held.n_items(axis) == read.n_items(axis)
            assert held.outer_axes(axis) == read.outer_axes(axis)
            others = {name: tree for name, tree in trees.items() if name != axis}
            for parts in (("ground", "raised"), ("raised",), ()):
                both = [
                    means.l1_sums(axis, others, EXPONENTS, hb.CpuEngine(2), ground_parts=parts)
                    for means in (held, read)
                ]
                assert both[0].tobytes() == both[1].tobytes()
                assert both[0][2].any()


def test_sums_over_heads_are_made_once_for_queries_and_keys(rng, monkeypatch):
    X = rng.normal(size=(6, 5, 9)).astype(np.float32)
    means = streamed(X, 10**6)
    made = []
    form = means._head_sums
    monkeypatch.setattr(means, "_head_sums", lambda *given: made.append(1) or form(*given))
    trees = {axis: random_tree(rng, n) for axis, n in zip(AXES, X.shape, strict=True)}
    for axis in ("query", "key", "head"):
        others = {name: tree for name, tree in trees.items() if name != axis}
        means.l1_sums(axis, others, EXPONENTS, hb.CpuEngine(1))
    assert len(made) == 1
    means.l1_sums("query", {"key": trees["key"], "head": random_tree(rng, 9)}, EXPONENTS, hb.CpuEngine(1))
    assert len(made) == 2
