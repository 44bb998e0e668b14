"""Softmax and fused attention are seen in every spelling, and run as they are."""

import pytest

torch = pytest.importorskip("torch")
from torch.nn import functional as F  # noqa: E402

from haarbor.capturing._seen_functions import SeenFunctions  # noqa: E402

X = torch.randn(1, 2, 3, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    "softmax",
    [
        lambda x: torch.softmax(x, dim=-1),
        lambda x: x.softmax(-1),
        lambda x: F.softmax(x, dim=-1, dtype=torch.float32),
        lambda x: torch.special.softmax(x, -1),
        lambda x: torch.nn.Softmax(dim=-1)(x),
    ],
)
def test_every_spelling_of_softmax_is_seen_once(softmax):
    seen = []
    with SeenFunctions(lambda args, _kwargs, result: seen.append((args[0], result)), None, None):
        result = softmax(X)
    assert len(seen) == 1
    assert seen[0][0] is X
    assert seen[0][1] is result
    assert torch.equal(result, torch.softmax(X, -1))


def test_fused_attention_is_seen_and_what_it_calls_inside_is_not():
    seen = []
    told = [lambda *_told, kind=kind: seen.append(kind) for kind in ("softmax", "sdpa", "multihead")]
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    tokens = torch.randn(1, 3, 8)
    with torch.no_grad(), SeenFunctions(*told):
        F.scaled_dot_product_attention(X, X, X)
        layer(tokens, tokens, tokens)
    assert seen == ["sdpa", "multihead"]
