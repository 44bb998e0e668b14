import numpy as np
from hypothesis import find, given

from haarbor.testing import AttentionSample, attention_samples
from tests.assertions import assert_close


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
