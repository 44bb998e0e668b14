"""Additive masks close entries and may add a term to the others."""

import pytest

torch = pytest.importorskip("torch")

from haarbor.capturing._additive_mask import bias_and_mask, open_entries  # noqa: E402


def test_a_boolean_mask_is_itself():
    mask = torch.tensor([True, False])
    assert open_entries(mask) is mask


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_most_negative_number_closes_in_every_precision(dtype):
    mask = torch.tensor([0.0, torch.finfo(dtype).min], dtype=dtype)
    assert open_entries(mask).tolist() == [True, False]


def test_a_term_and_closed_entries_come_apart_and_together_again():
    generator = torch.Generator().manual_seed(0)
    term, closed = torch.randn(3, 4, generator=generator), torch.rand(3, 4, generator=generator) > 0.5
    bias, mask = bias_and_mask(term.masked_fill(closed, float("-inf")))
    assert torch.equal(mask, ~closed)
    assert torch.equal(bias, term.masked_fill(closed, 0.0))


def test_nothing_added_and_nothing_closed_is_nothing():
    assert bias_and_mask(torch.zeros(2, 2)) == (None, None)
