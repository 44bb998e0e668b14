"""What a description says of the layers of a pruned network is checked, field by field."""

from dataclasses import asdict

import pytest

from haarbor.errors import PruningError
from haarbor.pruning._pruned_layers import checked_layers
from tests.pruning.builders import layer_heads


def entry(**changes):
    plain = asdict(layer_heads(4, block="blocks.0"))
    # Files do not say where outputs are normalised.
    del plain["norm"]
    return {**plain, "removed": [1, 3], "bias": True, "smaller": False, **changes}


def test_layers_are_read_as_they_were_written():
    found = checked_layers([entry(), entry(removed=[], bias=False, smaller=True)], "folder")
    assert found.heads.layers == (layer_heads(4, block="blocks.0"),) * 2
    assert [gone.tolist() for gone in found.removed] == [[1, 3], []]
    assert (found.biases, found.smaller) == ((True, False), (False, True))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"n_heads": 0}, "n_heads of layer 0 is 0"),
        ({"n_heads": True}, "n_heads of layer 0 is True"),
        ({"head_width": 10**9}, "head_width of layer 0 is 1000000000"),
        ({"call": -1}, "call of layer 0 is -1"),
        ({"projection": "o; rm"}, "projection of layer 0 is 'o; rm'"),
        ({"block": 3}, "block of layer 0 is 3"),
        ({"bias": 1}, "bias of layer 0 is 1"),
        ({"removed": [3, 1]}, r"removed of layer 0 is \[3, 1\]"),
        ({"removed": [4]}, r"removed of layer 0 is \[4\]"),
        ({"more": 1}, "layer 0 is {"),
    ],
)
def test_fields_that_are_wrong_are_named(changes, what):
    with pytest.raises(PruningError, match=f"folder must describe every layer .*; {what}"):
        checked_layers([entry(**changes)], "folder")
