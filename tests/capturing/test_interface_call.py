"""The conventions of attention functions of transformers, by hand."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing._interface_call import interface_call  # noqa: E402

ALL = slice(0, 2)


def given(**changes):
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(1, 2, 3, 4, generator=generator), torch.randn(1, 2, 3, 4, generator=generator)
    return {"query": query, "key": key, "value": key, "attention_mask": None, **changes}


def test_scaling_is_the_option_then_the_module_then_the_width():
    module = nn.Module()
    assert interface_call(module, given(), "faithful").scaling == 0.5
    module.scaling = 0.25
    assert interface_call(module, given(), "faithful").scaling == 0.25
    assert interface_call(module, given(scaling=2.0), "faithful").scaling == 2.0


def test_sdpa_without_a_mask_is_causal_unless_the_layer_says_otherwise():
    module = nn.Module()
    assert interface_call(module, given(), "faithful").valid().all()
    assert interface_call(module, given(), "transparent").valid()[0].tolist() == [
        [True, False, False], [True, True, False], [True, True, True],
    ]  # fmt: skip
    module.is_causal = False
    assert interface_call(module, given(), "transparent").valid().all()
    assert interface_call(module, given(is_causal=True), "transparent").valid().sum() == 6


def test_a_position_term_inside_the_mask_belongs_to_the_logits():
    term = torch.randn(1, 2, 3, 3, generator=torch.Generator().manual_seed(1))
    closed = torch.eye(3, dtype=torch.bool)
    mask = term.masked_fill(closed, torch.finfo(torch.float32).min)
    call = interface_call(nn.Module(), given(attention_mask=mask), "faithful")
    plain = interface_call(nn.Module(), given(), "faithful")
    added = call.logits(ALL) - plain.logits(ALL)
    torch.testing.assert_close(added, term.masked_fill(closed, 0.0), atol=1e-6, rtol=0)
    assert torch.equal(call.valid()[0], ~closed)


def test_a_bias_and_a_term_inside_the_mask_add_up():
    one, two = torch.full((1, 1, 3, 3), 0.5), torch.full((1, 2, 3, 3), 0.25)
    call = interface_call(nn.Module(), given(position_bias=one, attention_mask=two), "faithful")
    assert (call.bias == 0.75).all()


def test_sinks_are_the_option_or_those_of_the_module():
    module = nn.Module()
    module.sinks = torch.zeros(2)
    assert interface_call(module, given(), "faithful").sinks is module.sinks
    other = torch.ones(2)
    assert interface_call(module, given(s_aux=other), "faithful").sinks is other
