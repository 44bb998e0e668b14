import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from haarbor.zoo import RelativeAttention, relative_shift, sinusoids  # noqa: E402


def slow_attention(layer, x, context):
    """The formula of the docstring, a batch, head, query and key at a time, in double precision."""
    weights = {name: value.detach().double().numpy() for name, value in layer.named_parameters()}
    heads, d = layer.n_heads, layer.head_width
    batch, n_queries, width = x.shape
    n_keys = context.shape[1]
    x, context = x.double().numpy(), context.double().numpy()
    out = np.zeros((batch, n_queries, heads * d))
    frequency = [10000.0 ** (-2 * i / width) for i in range(math.ceil(width / 2))]
    for b in range(batch):
        for h in range(heads):
            part = slice(h * d, (h + 1) * d)
            keys = context[b] @ weights["key_value.weight"][: heads * d][part].T
            values = context[b] @ weights["key_value.weight"][heads * d :][part].T
            for i in range(n_queries):
                q = weights["query.weight"][part] @ x[b, i]
                place = n_keys - n_queries + i
                scores = []
                for j in range(place + 1):
                    angle = [(place - j) * f for f in frequency]
                    sinusoid = np.array([math.sin(a) for a in angle] + [math.cos(a) for a in angle])[:width]
                    r = weights["distance.weight"][part] @ sinusoid
                    by_content = (q + weights["content_bias"][h, 0]) @ keys[j]
                    by_distance = (q + weights["distance_bias"][h, 0]) @ r
                    scores.append((by_content + by_distance) / math.sqrt(d))
                shares = np.exp(np.array(scores) - max(scores))
                out[b, i, part] = shares / shares.sum() @ values[: place + 1]
    return out @ weights["output.weight"].T


def random_layer(width, heads, head_width):
    torch.manual_seed(0)
    layer = RelativeAttention(width, heads, head_width, dropout=0.0).eval()
    for weight in layer.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    return layer


@pytest.mark.parametrize(("n_queries", "n_keys"), [(1, 1), (1, 4), (3, 3), (3, 7), (5, 6)])
def test_relative_shift_equals_a_loop_over_queries_and_keys(n_queries, n_keys):
    scores = torch.randn(2, 3, n_queries, n_keys, generator=torch.Generator().manual_seed(0))
    shifted = relative_shift(scores)
    assert shifted.shape == scores.shape
    for i in range(n_queries):
        place = n_keys - n_queries + i
        for j in range(place + 1):
            column = n_keys - 1 - (place - j)
            assert torch.equal(shifted[..., i, j], scores[..., i, column])


@pytest.mark.parametrize(("width", "heads", "head_width"), [(8, 2, 4), (6, 3, 5), (7, 1, 3)])
def test_relative_attention_equals_its_formula_in_a_slow_loop(width, heads, head_width):
    layer = random_layer(width, heads, head_width)
    context = torch.randn(2, 7, width)
    x = context[:, 4:]
    allowed = torch.ones(3, 7, dtype=torch.bool).tril(diagonal=4)
    with torch.no_grad():
        found = layer(x, context, sinusoids(7, width), allowed)
    np.testing.assert_allclose(found.numpy(), slow_attention(layer, x, context), atol=2e-5)


@pytest.mark.parametrize("bias", ["content_bias", "distance_bias"])
def test_each_bias_changes_what_is_attended_to(bias):
    layer = random_layer(8, 2, 4)
    context = torch.randn(1, 5, 8)
    arguments = (context, context, sinusoids(5, 8), torch.ones(5, 5, dtype=torch.bool).tril())
    with torch.no_grad():
        before = layer(*arguments)
        getattr(layer, bias).add_(1.0)
        after = layer(*arguments)
    assert (before - after).abs().max() > 1e-2


def test_sinusoids_depend_on_the_distance_alone():
    torch.testing.assert_close(sinusoids(9, 6)[-4:], sinusoids(4, 6))
    assert sinusoids(3, 5).shape == (3, 5)
