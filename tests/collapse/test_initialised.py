import pytest

pytest.importorskip("transformers")

import torch
from torch import nn

from haarbor.collapse import initialised
from haarbor.errors import CollapseError
from tests.pruning.small_networks import network


@pytest.mark.parametrize("name", ["gpt2", "zoo-txl", "zoo-vit"])
def test_it_is_built_alike_with_other_weights_and_the_same_ones_for_a_seed(name):
    model = network(name)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    state = torch.random.get_rng_state()
    one, again, other = initialised(model), initialised(model), initialised(model, seed=1)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert not one.training
    assert {key: value.shape for key, value in one.state_dict().items()} == {
        key: value.shape for key, value in before.items()
    }
    maps = [key for key, value in one.named_parameters() if value.dim() > 1 and value.any()]
    for key in maps:
        assert torch.equal(one.state_dict()[key], again.state_dict()[key])
        assert not torch.equal(one.state_dict()[key], other.state_dict()[key])
        assert not torch.equal(one.state_dict()[key], before[key])
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_the_precision_stays():
    assert next(initialised(network("zoo-vit").double()).parameters()).dtype == torch.float64


def test_a_network_that_cannot_say_how_it_begins_is_refused():
    with pytest.raises(CollapseError, match="init_weights\\(\\); Linear does not"):
        initialised(nn.Linear(2, 2))
