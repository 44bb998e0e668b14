"""Scores and probabilities of one attention call, by hand."""

import pytest

torch = pytest.importorskip("torch")

from haarbor.capturing._product_call import ProductCall  # noqa: E402


def call(**changes):
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(1, 4, 3, 8, generator=generator)
    key = torch.randn(1, 2, 5, 8, generator=generator)
    plain = {"scaling": 0.5, "bias": None, "mask": None, "softcap": None, "sinks": None}
    return ProductCall(query=query, key=key, **{**plain, **changes})


ALL = slice(0, 4)


def test_neighbouring_heads_share_a_key_value_head():
    one = call()
    assert (one.n_heads, one.n_queries, one.n_keys, one.head_group) == (4, 3, 5, 2)
    for head in range(4):
        expected = 0.5 * one.query[0, head] @ one.key[0, head // 2].T
        torch.testing.assert_close(one.logits(ALL)[0, head], expected)


def test_a_cap_bends_the_scores_and_a_bias_is_added_after_it():
    bias = torch.arange(20.0).view(1, 4, 1, 5)
    plain, bent = call().logits(ALL), call(softcap=2.0, bias=bias).logits(ALL)
    torch.testing.assert_close(bent, 2 * torch.tanh(plain / 2) + bias)


@pytest.mark.parametrize("closed", [False, -10000.0, float("-inf"), torch.finfo(torch.float32).min])
def test_closed_entries_get_no_weight(closed):
    mask = torch.full((1, 1, 3, 5), True if closed is False else 0.0)
    mask[..., 4] = closed
    one = call(mask=mask)
    assert one.valid()[0].tolist() == [[True] * 4 + [False]] * 3
    weights = one.probabilities(one.logits(ALL), ALL)
    assert weights[..., 4].max() == 0
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 4, 3))


def test_a_sink_takes_weight_that_no_key_gets():
    one = call(sinks=torch.tensor([-30.0, 0.0, 0.0, 30.0]))
    logits = one.logits(ALL)
    total = one.probabilities(logits, ALL).sum(-1)
    expected = logits.exp().sum(-1) / (logits.exp().sum(-1) + one.sinks.exp()[:, None])
    torch.testing.assert_close(total, expected)


def test_chunks_of_heads_cover_all_of_them_and_one_at_least():
    one = call()
    assert [(part.start, part.stop) for part in one.head_chunks(most_bytes=4 * 3 * 5 * 3)] == [(0, 3), (3, 4)]
    assert [(part.start, part.stop) for part in one.head_chunks(most_bytes=1)] == [
        (n, n + 1) for n in range(4)
    ]


def test_products_in_float32_do_not_round_as_half_precision_does():
    generator = torch.Generator().manual_seed(0)
    query, key = (torch.randn(1, 4, 6, 64, generator=generator).half() for _ in range(2))
    plain = {"query": query, "key": key, "scaling": 1.0, "bias": None, "mask": None, "softcap": None,
             "sinks": None}  # fmt: skip
    exact = torch.softmax(query.float() @ key.float().transpose(2, 3), dim=-1)

    def error(**changes):
        found = ProductCall(**plain, **changes)
        return float((found.probabilities(found.logits(ALL), ALL) - exact).abs().max())

    assert error(in_float32=True) == 0.0
    assert error() > 1e-4


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"causal": True},
        {"mask": torch.rand(1, 1, 3, 5, generator=torch.Generator().manual_seed(2)) > 0.3},
        {"mask": torch.tensor([True] * 3 + [False] * 2).view(1, 1, 1, 5), "causal": True},
        {"bias": torch.arange(60.0).view(1, 4, 3, 5), "softcap": 3.0},
        {"sinks": torch.tensor([-1.0, 0.0, 1.0, 2.0])},
    ],
)
def test_rows_are_those_of_the_whole(changes):
    one = call(**changes)
    logits = one.logits(ALL)
    whole = one.probabilities(logits, ALL)
    for rows in (slice(0, 1), slice(1, 3)):
        part = one.logits(slice(1, 4), rows)
        torch.testing.assert_close(part, logits[:, 1:, rows])
        torch.testing.assert_close(one.probabilities(part, slice(1, 4), rows), whole[:, 1:, rows])
        assert torch.equal(one.valid(rows), one.valid()[:, rows])


def test_a_causal_call_sees_the_keys_up_to_its_own():
    one = call(causal=True)
    assert one.valid()[0].int().tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]
    weights = one.probabilities(one.logits(ALL), ALL)
    assert weights[:, :, ~one.valid()[0]].max() == 0
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 4, 3))


def test_blocks_cover_heads_and_rows_once_within_the_limit():
    one = call()
    for rows in (slice(None), slice(1, 3)):
        for most in (1, 4 * 5, 4 * 10, 4 * 15, 4 * 30, 10**6):
            seen = torch.zeros(4, 3, dtype=torch.int)
            for heads, queries in one.blocks(rows, most_bytes=most):
                seen[heads, queries] += 1
                entries = (heads.stop - heads.start) * (queries.stop - queries.start) * 5
                assert 4 * entries <= max(most, 4 * 5)
            assert (seen[:, rows] == 1).all()
            assert seen.sum() == seen[:, rows].numel()
    # A head is divided only where all its rows together are too much.
    assert list(one.blocks(most_bytes=4 * 15 * 3)) == [(slice(0, 3), slice(0, 3)), (slice(3, 4), slice(0, 3))]
