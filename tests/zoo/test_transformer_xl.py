import pytest

torch = pytest.importorskip("torch")

from haarbor.errors import ShapeError  # noqa: E402
from haarbor.zoo import TransformerXL, TransformerXLConfig  # noqa: E402


def network(memory_length=64, **changes):
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "width": 24, "n_layers": 3, "n_heads": 2, "head_width": 8, "inner_width": 32}
    model = TransformerXL(TransformerXLConfig(memory_length=memory_length, **{**sizes, **changes})).eval()
    for name, weight in model.named_parameters():
        # Larger weights and biases than at the start of training: attention must be far from uniform.
        if "norm" not in name:
            torch.nn.init.normal_(weight, std=0.3)
    return model


def tokens(n, batch=2):
    return torch.randint(50, (batch, n), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("cuts", [(10,), (3, 4), (1, 1, 1), (16, 2)])
def test_memory_equals_a_longer_context(cuts):
    model, ids = network(), tokens(20)
    with torch.no_grad():
        whole = model(ids).logits
        pieces, memory, begin = [], None, 0
        for length in (*cuts, ids.shape[1] - sum(cuts)):
            output = model(ids[:, begin : begin + length], memory)
            pieces.append(output.logits)
            memory, begin = output.memory, begin + length
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, atol=1e-4, rtol=1e-4)


def test_a_memory_too_short_does_not_equal_the_longer_context():
    model, ids = network(memory_length=4), tokens(20)
    with torch.no_grad():
        first = model(ids[:, :10])
        second = model(ids[:, 10:], first.memory)
        assert first.memory.shape == (2, 3, 4, 24)
        assert (second.logits - model(ids).logits[:, 10:]).abs().max() > 1e-2


def test_memory_keeps_the_newest_tokens_of_several_segments():
    model, ids = network(memory_length=6), tokens(12)
    with torch.no_grad():
        first = model(ids[:, :4])
        second = model(ids[:, 4:8], first.memory)
    assert first.memory.shape[2] == 4
    assert second.memory.shape[2] == 6
    # The lowest layer remembers the embeddings themselves.
    expected = model.embedding(ids[:, 2:8]) * 24**0.5
    torch.testing.assert_close(second.memory[:, 0], expected)


def test_no_memory_leaves_nothing_behind():
    output = network(memory_length=0)(tokens(5))
    assert output.memory.shape == (2, 3, 0, 24)


def test_a_later_token_changes_no_earlier_score():
    model, ids = network(), tokens(12)
    changed = ids.clone()
    changed[:, 8] = (changed[:, 8] + 1) % 50
    with torch.no_grad():
        one, two = model(ids).logits, model(changed).logits
    assert torch.equal(one[:, :8], two[:, :8])
    assert (one[:, 8:] - two[:, 8:]).abs().amax(dim=(0, 2)).min() > 1e-4


def test_no_gradient_flows_from_a_score_to_a_later_token():
    model, ids = network(), tokens(9, batch=1)
    inputs = model.embedding(ids).detach().requires_grad_()
    model.embedding.forward = lambda _ids: inputs
    model(ids).logits[0, 4].sum().backward()
    reached = inputs.grad[0].abs().sum(dim=1) > 0
    assert reached.tolist() == [True] * 5 + [False] * 4


def test_no_gradient_flows_into_the_memory():
    model, ids = network(), tokens(8)
    first = model(ids[:, :4])
    assert not first.memory.requires_grad
    model(ids[:, 4:], first.memory).logits.sum().backward()


def test_padding_is_attended_to_by_nobody_else():
    model, ids = network(), tokens(10)
    mask = torch.ones_like(ids)
    mask[:, 7:] = 0
    changed = ids.clone()
    changed[:, 7:] = 0
    left = torch.cat([ids[:, :2], ids[:, :8]], dim=1)
    left_changed = left.clone()
    left_changed[:, :2] = 3
    left_mask = torch.ones_like(left)
    left_mask[:, :2] = 0
    with torch.no_grad():
        assert torch.equal(model(ids, None, mask).logits[:, :7], model(changed, None, mask).logits[:, :7])
        one, two = model(left, None, left_mask).logits, model(left_changed, None, left_mask).logits
    assert torch.isfinite(one).all()
    torch.testing.assert_close(one[:, 2:], two[:, 2:])


def test_memory_of_another_network_is_refused():
    model, ids = network(), tokens(4)
    with pytest.raises(
        ShapeError, match=r"memory must have shape \(2, 3, n_remembered, 24\); found \(2, 4, 5"
    ):
        model(ids, torch.zeros(2, 4, 5, 24))


def test_dropout_acts_in_training_only():
    model, ids = network(dropout=0.5), tokens(6)
    with torch.no_grad():
        assert torch.equal(model(ids).logits, model(ids).logits)
        model.train()
        assert not torch.equal(model(ids).logits, model(ids).logits)
