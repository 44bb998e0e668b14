"""A softmax seen inside an attention module is read as attention, by its axes and the module's heads."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing._softmax_call import SoftmaxCall, head_count, softmax_call  # noqa: E402


def module(**heads):
    found = nn.Module()
    for name, count in heads.items():
        setattr(found, name, count)
    return found


def seen(shape, **heads):
    scores = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    return softmax_call(module(**heads), scores, scores.softmax(-1))


@pytest.mark.parametrize(
    ("shape", "heads", "expected"),
    [
        ((1, 4, 5, 6), {"num_heads": 4}, (1, 4, 5, 6)),
        ((1, 4, 5, 6), {}, (1, 4, 5, 6)),
        ((9, 4, 5, 6), {"num_heads": 4}, (9, 4, 5, 6)),
        ((4, 5, 6), {"n_head": 4}, (1, 4, 5, 6)),
        ((12, 5, 6), {"n_head": 4}, (3, 4, 5, 6)),
        ((3, 5, 6), {}, (1, 3, 5, 6)),
        ((1, 2, 2, 5, 6), {"num_attention_heads": 4}, (1, 4, 5, 6)),
        ((1, 3, 4, 5, 6), {"num_attention_heads": 4}, (1, 12, 5, 6)),
        ((1, 4, 3, 5, 6), {"num_attention_heads": 4}, (1, 12, 5, 6)),
    ],
)
def test_axes_are_groups_heads_queries_and_keys(shape, heads, expected):
    call = seen(shape, **heads)
    assert call.shape == expected
    torch.testing.assert_close(call.weights.flatten(), call.scores.softmax(-1).flatten())


def test_heads_that_share_keys_are_told_from_blocks_of_the_sequence():
    assert seen((1, 2, 3, 5, 6), num_heads=6).head_group == 3
    assert seen((1, 2, 3, 5, 6), num_heads=3).head_group == 1


@pytest.mark.parametrize(
    ("shape", "heads"),
    [
        # Queries before heads, as in deformable attention over points.
        ((1, 30, 2, 12), {"num_heads": 2}),
        ((5, 5, 6), {"num_heads": 4}),
        ((1, 3, 5, 5, 6), {"num_heads": 4}),
        ((1, 2, 3, 4, 5, 6), {"num_heads": 2}),
    ],
)
def test_other_axes_are_not_read_as_attention(shape, heads):
    assert seen(shape, **heads) is None


@pytest.mark.parametrize("closed", [float("-inf"), torch.finfo(torch.float32).min, -1e4, -9999.0])
def test_closed_entries_are_masked_and_their_logits_are_zero(closed):
    scores = torch.tensor([[[[1.0, 2.0, closed], [3.0, closed, closed]]]])
    call = SoftmaxCall(scores=scores, weights=scores.softmax(-1))
    assert call.valid().tolist() == [[[True, True, False], [True, False, False]]]
    assert call.logits(slice(0, 1))[0, 0].tolist() == [[1.0, 2.0, 0.0], [3.0, 0.0, 0.0]]


def test_a_key_is_open_where_one_head_sees_it():
    scores = torch.tensor([[[[0.0, float("-inf")]], [[float("-inf"), 0.0]]]])
    assert SoftmaxCall(scores=scores, weights=scores.softmax(-1)).valid().all()


def test_a_query_that_sees_nothing_in_one_head_alone_sees_all_of_it_alike():
    scores = torch.zeros(1, 2, 2, 3)
    scores[0, 0, 0, 1:] = scores[0, 1, 0] = scores[0, :, 1] = -1e10
    call = SoftmaxCall(scores=scores, weights=scores.softmax(-1))
    # The first query is closed in the second head, the second query in both: it is padding.
    assert call.valid()[0].tolist() == [[True] * 3, [False] * 3]


def test_probabilities_are_those_of_the_layer_not_a_softmax_of_ours():
    scores = torch.zeros(1, 2, 1, 2)
    weights = torch.tensor([0.9, 0.1]).expand(1, 2, 1, 2)
    call = SoftmaxCall(scores=scores, weights=weights)
    found = call.probabilities(call.logits(slice(1, 2)), slice(1, 2))
    torch.testing.assert_close(found, weights[:, 1:])


def test_the_number_of_heads_is_a_number_that_the_module_names():
    assert head_count(module(num_heads=8)) == 8
    assert head_count(module(num_heads=True, n_heads=3)) == 3
    assert head_count(module(heads=nn.Identity())) is None
