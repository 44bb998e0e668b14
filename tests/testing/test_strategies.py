import subprocess
import sys

import numpy as np
from hypothesis import find, given

import haarbor as hb
from haarbor.testing import AttentionSample, affinities, attention_samples, partition_trees
from tests.assertions import assert_close


@given(partition_trees(min_items=2, max_items=7, max_inner_levels=3))
def test_trees_are_within_their_bounds(tree):
    assert isinstance(tree, hb.PartitionTree)
    assert 2 <= tree.n_items <= 7
    assert tree.n_levels <= 5


def test_trees_of_every_awkward_kind_are_drawn():
    trees = partition_trees(max_items=6)

    def repeats_a_level(tree):
        return any((a == b).all() for a, b in zip(tree.levels, tree.levels[1:], strict=False))

    kinds = [
        lambda tree: tree.n_items == 1,
        lambda tree: tree.n_items == 1 and tree.n_levels > 1,
        repeats_a_level,
        lambda tree: (
            tree.n_items > 3 and tree.pruned.n_folders < tree.n_folders and not repeats_a_level(tree)
        ),
        lambda tree: np.diff(tree.pruned.child_offsets).max() > 2 and tree.n_levels > 2,
        lambda tree: tree.n_levels > 3 and len({f.size for f in tree.folders(1)}) > 1,
        lambda tree: tree.n_levels > 3 and 1 in [f.size for f in tree.folders(1)],
    ]
    for kind in kinds:
        assert kind(find(trees, kind))


@given(attention_samples())
def test_attention_is_what_it_says(sample):
    assert isinstance(sample, AttentionSample)
    n_queries, n_keys, n_heads = sample.tensor.shape
    assert sample.mask.shape == (n_queries, n_keys)
    assert sample.mask.any(axis=1).all()
    assert sample.mask[-1].all()
    assert sample.mask.all() or sample.causal
    if sample.content == "probabilities":
        assert (sample.tensor[~sample.mask] == 0).all()
        assert (sample.tensor[sample.mask] > 0).all()
        assert_close(sample.tensor.sum(axis=1), np.ones((n_queries, n_heads)), sample.tensor.dtype)
    assert len(repr(sample).splitlines()) == 1


def test_attention_of_every_kind_is_drawn():
    kinds = [
        lambda s: s.tensor.dtype == np.float32,
        lambda s: s.tensor.dtype == np.float64,
        lambda s: s.tensor.shape[0] < s.tensor.shape[1],
        lambda s: s.tensor.shape[0] > s.tensor.shape[1],
        lambda s: s.causal and s.content == "probabilities" and (s.tensor == 0).any(),
        lambda s: not s.causal and s.content == "logits",
        lambda s: s.tensor.shape == (1, 1, 1),
    ]
    for kind in kinds:
        assert kind(find(attention_samples(), kind))


@given(
    attention_samples(
        min_tokens=3, max_tokens=4, min_heads=2, max_heads=2, square=True, causal=True, content="logits",
        dtype="float32",
    )
)  # fmt: skip
def test_attention_can_be_asked_for_by_kind(sample):
    n_tokens = sample.tensor.shape[0]
    assert sample.tensor.shape in ((3, 3, 2), (4, 4, 2))
    assert (sample.content, sample.causal, sample.tensor.dtype) == ("logits", True, np.float32)
    assert (sample.mask == np.tri(n_tokens, dtype=bool)).all()


@given(affinities(max_components=3))
def test_affinities_are_affinities(affinity):
    spectrum = hb.markov_spectrum(affinity)
    assert spectrum.n_items == affinity.shape[0]
    assert (affinity == affinity.T).all()


def test_affinities_fall_apart_when_asked_to():
    split = find(affinities(min_items=4, max_components=3), lambda a: (a == 0).any())
    assert hb.markov_spectrum(split).eigenvalues[1] > 1 - 1e-9
    whole = find(affinities(min_items=4), lambda a: a.shape[0] > 4)
    assert (whole > 0).all()


def test_without_hypothesis_the_kit_says_what_to_install():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import haarbor\n"
        "try:\n    import haarbor.testing\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "haarbor.testing needs the hypothesis package; install it with pip install hypothesis."
    ]
