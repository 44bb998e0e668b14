"""Batches in one form; data to calibrate and to measure on must not overlap."""

import pytest
import torch

from haarbor.errors import DataError
from haarbor.pruning import model_batches, require_disjoint


def test_shifted_windows_of_one_text_overlap(rng):
    text = torch.as_tensor(rng.integers(0, 90, 200))
    one, two, apart = text[None, :100], text[None, 20:120], text[None, 100:]
    require_disjoint(model_batches(one), model_batches(apart))
    with pytest.raises(DataError, match="has 62 % of its text in common"):
        require_disjoint(model_batches(one), model_batches(two))


def test_a_quotation_is_no_overlap(rng):
    one, two = torch.as_tensor(rng.integers(0, 90, (2, 256)))
    two[100:160] = one[20:80]
    require_disjoint(model_batches(one[None]), model_batches(two[None]))


def test_padding_in_common_is_no_overlap():
    ids = torch.zeros(2, 120, dtype=torch.long)
    ids[0, :9], ids[1, :9] = torch.arange(9), torch.arange(20, 29)
    require_disjoint(model_batches(ids[:1]), model_batches(ids[1:]))
