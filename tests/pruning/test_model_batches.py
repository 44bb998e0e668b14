"""Batches in one form; data to calibrate and to measure on must not overlap."""

import pytest
import torch

from haarbor.errors import DataError
from haarbor.pruning import model_batches, require_disjoint

IDS = torch.arange(10).view(2, 5)


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


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            lambda: IDS.to_sparse(),
            "a batch must be a dense tensor; found a sparse one. Convert it with to_dense().",
        ),
        (
            # Made within the test: the first nested tensor loads the compiler of torch, which takes seconds.
            lambda: {"input_ids": torch.nested.nested_tensor([IDS[0], IDS[0, :3]], layout=torch.jagged)},
            "the input 'input_ids' must be a dense tensor; found a nested one. Pad it with to_padded_tensor.",
        ),
        (
            lambda: {"input_ids": IDS, "labels": IDS.to("meta")},
            "the input 'labels' must hold values; found a tensor on the meta device, which has a shape and "
            "no values. Make it on the processor.",
        ),
    ],
)
def test_tensors_whose_numbers_do_not_lie_side_by_side_are_refused(batch, message):
    given = batch()
    with pytest.raises(DataError) as found:
        model_batches([given])
    assert str(found.value) == message
