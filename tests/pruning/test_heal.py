"""Short training of what is left of the attention."""

import numpy as np
import pytest
import torch

import haarbor as hb
from haarbor.errors import PruningError, SettingError
from haarbor.pruning import mask_heads, measure, network_heads, prune_heads
from haarbor.pruning._metrics import METRICS, Metric
from tests.pruning.builders import HEADS
from tests.pruning.small_networks import batches, network

LOSS = METRICS["loss"]


def pruned(name="llama", make=prune_heads, removed=HEADS):
    model, data = network(name), batches(name, 8, size=1)
    heads = network_heads(model, data[0])
    return make(model, heads, [pair for pair in removed if pair[0] < len(heads)], batch=data[0]), data, heads


def test_the_loss_on_the_data_falls_and_only_attention_has_changed():
    smaller, data, _ = pruned()
    before = {name: weight.clone() for name, weight in smaller.state_dict().items()}
    found = hb.heal(smaller, data, steps=12, learning_rate=1e-2)
    assert measure(found.network, data, LOSS).value < measure(smaller, data, LOSS).value - 0.1
    for name, weight in found.network.state_dict().items():
        assert torch.equal(weight, before[name]) == ("self_attn" not in name), name
    # The network that was given is as it was.
    assert all(torch.equal(weight, before[name]) for name, weight in smaller.state_dict().items())
    assert found.losses.shape == (12,)
    assert found.n_trained == sum(weight.numel() for name, weight in before.items() if "self_attn" in name)
    assert not found.network.training
    assert all(weight.grad is None and weight.requires_grad for weight in found.network.parameters())


def test_the_first_step_is_that_of_adam():
    smaller, data, _ = pruned()
    found = hb.heal(smaller, data, steps=1, learning_rate=1e-3)
    # The first step of Adam moves every weight by the learning rate, against the sign of its gradient.
    name = "model.layers.0.self_attn.o_proj.weight"
    moved = (found.network.state_dict()[name] - smaller.state_dict()[name]).abs()
    assert float(moved.median()) == pytest.approx(1e-3, rel=1e-2)
    assert found.losses[0] == pytest.approx(measure(smaller, data, LOSS).value, rel=1e-4)


def test_a_seed_gives_the_same_network_again():
    smaller, data, _ = pruned()
    one, two = (hb.heal(smaller, data * 2, steps=3, seed=4) for _ in range(2))
    other = hb.heal(smaller, data * 2, steps=3, seed=5)
    np.testing.assert_array_equal(one.losses, two.losses)
    for first, second in zip(one.network.parameters(), two.network.parameters(), strict=True):
        assert torch.equal(first, second)
    assert not np.array_equal(one.losses, other.losses)


def test_heads_that_are_switched_off_do_not_come_back():
    masked, data, heads = pruned("albert", mask_heads)
    found = hb.heal(masked, data, steps=4, learning_rate=1e-2)
    same = network_heads(found.network, data[0])
    assert measure(found.network, data, LOSS).value < measure(masked, data, LOSS).value
    layer = same.layers[0]
    projections = found.network.get_submodule(heads.layers[0].projection)
    weight = projections.calls[0].weight if hasattr(projections, "calls") else projections.weight
    assert not weight[:, layer.channels(1)].any()
    assert weight[:, layer.channels(0)].all()


def test_what_cannot_be_trained_is_refused_in_a_line():
    smaller, data, _ = pruned()
    counted = Metric("right", lambda model, batch: (torch.tensor(1.0), 1.0))
    with pytest.raises(PruningError, match="the metric 'right' has no gradient"):
        hb.heal(smaller, data, steps=1, metric=counted)
    with pytest.raises(PruningError, match="half precision"):
        hb.heal(smaller.bfloat16(), data, steps=1)
    with pytest.raises(PruningError, match="must stay finite"):
        hb.heal(smaller.float(), data, steps=9, learning_rate=1e30)
    for wrong in ({"steps": 0}, {"steps": 1.5}, {"steps": 1, "learning_rate": -1}, {"steps": 1, "seed": -1}):
        with pytest.raises(SettingError, match="must be"):
            hb.heal(smaller, data, **wrong)


def test_a_teacher_is_followed_without_labels():
    model, data = network("bert"), batches("bert", 8, size=1)
    heads = network_heads(model, data[0])
    smaller = prune_heads(model, heads, [(0, 1), (1, 2)], batch=data[0])
    found = hb.heal(smaller, data, steps=1, teacher=model)
    # By the definition: sum p log(p / q), over the tokens that are no padding.
    expected = []
    with torch.no_grad():
        for batch in data:
            valid = batch.valid[0]
            p, q = (net(**batch.inputs).logits[0, valid].double().softmax(-1) for net in (model, smaller))
            expected.append((p * (p / q).log()).sum(-1))
    assert found.losses[0] == pytest.approx(float(torch.cat(expected).mean()), rel=1e-4)
    more = hb.heal(smaller, data, steps=12, teacher=model, learning_rate=1e-3)
    assert more.losses[-1] < 0.8 * more.losses[0]
    # The network itself has nothing to follow.
    assert hb.heal(model, data, steps=1, teacher=model).losses[0] == pytest.approx(0.0, abs=1e-6)


def test_networks_that_answer_with_vectors_follow_their_teacher():
    from transformers import BertModel

    model, data = network("bert"), batches("bert", 8, size=1)
    bare = BertModel(model.config, add_pooling_layer=False).eval()
    heads = network_heads(bare, data[0])
    smaller = prune_heads(bare, heads, [(0, 1)], batch=data[0])
    found = hb.heal(smaller, data, steps=10, teacher=bare, learning_rate=1e-3)
    assert 0 < found.losses[-1] < found.losses[0]
