"""The arguments of SDPA mean to Haarbor what they mean to PyTorch."""

import pytest

torch = pytest.importorskip("torch")

from haarbor.capturing._call_checks import gives_output  # noqa: E402
from haarbor.capturing._sdpa_call import sdpa_call  # noqa: E402

GENERATOR = torch.Generator().manual_seed(0)
QUERY, KEY, VALUE = (torch.randn(2, 4, 5, 8, generator=GENERATOR) for _ in range(3))
SHARED, SHARED_VALUE = KEY[:, :2], VALUE[:, :2]
TERM = torch.randn(2, 1, 5, 5, generator=GENERATOR)
OPEN = torch.ones(5, 5, dtype=torch.bool).tril(1)


@pytest.mark.parametrize(
    ("key", "value", "options"),
    [
        (KEY, VALUE, {}),
        (KEY, VALUE, {"is_causal": True}),
        (KEY, VALUE, {"scale": 0.9}),
        (KEY, VALUE, {"attn_mask": OPEN}),
        (KEY, VALUE, {"attn_mask": TERM}),
        (KEY, VALUE, {"attn_mask": TERM.masked_fill(~OPEN, float("-inf"))}),
        (SHARED, SHARED_VALUE, {"enable_gqa": True}),
    ],
)
def test_the_softmax_of_its_scores_times_the_values_is_what_pytorch_gives(key, value, options):
    output = torch.nn.functional.scaled_dot_product_attention(QUERY, key, value, **options)
    call = sdpa_call(QUERY, key, value, **options)
    assert gives_output(call, value, output)
    assert call.shape == (2, 4, 5, 5)


def test_tensors_without_batch_or_heads_are_taken():
    assert sdpa_call(QUERY[0, 0], KEY[0, 0], VALUE[0, 0]).shape == (1, 1, 5, 5)
