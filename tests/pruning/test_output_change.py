"""How far answers are from those of the whole network, by hand."""

import numpy as np
import pytest
import torch

from haarbor.pruning import ModelBatch
from haarbor.pruning._output_change import counted_outputs, mean_output_changes, output_of

COUNTED = torch.tensor([True, True, False])


def test_distributions_are_compared_by_their_relative_entropy():
    generator = torch.Generator().manual_seed(0)
    whole, others = torch.randn(3, 5, generator=generator), torch.randn(2, 3, 5, generator=generator)
    p, q = whole.double().softmax(-1), others.double().softmax(-1)
    expected = (p * (p / q).log()).sum(-1)[:, :2].mean(1)
    found = mean_output_changes(whole, others, COUNTED, vectors=False)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_vectors_are_compared_by_the_square_of_their_difference_relative_to_theirs():
    whole = torch.tensor([[3.0, 4.0], [1.0, 0.0], [9.0, 9.0]])
    others = torch.stack([whole, whole + torch.tensor([5.0, 0.0])])
    found = mean_output_changes(whole, others, COUNTED, vectors=True)
    assert found.tolist() == pytest.approx([0.0, (25 / 25 + 25 / 1) / 2])


def test_a_single_score_is_no_distribution():
    assert output_of(torch.zeros(2, 1))[1]
    assert not output_of(torch.zeros(2, 3))[1]


def test_what_the_batch_says_counts_before_its_padding():
    inputs = {"input_ids": torch.zeros(1, 3, dtype=torch.long), "attention_mask": torch.tensor([[1, 1, 0]])}
    answer = torch.zeros(1, 3, 7)
    padded = ModelBatch(inputs=inputs, labels=None)
    assert counted_outputs(padded, answer).tolist() == [[True, True, False]]
    chosen = ModelBatch(inputs=inputs, labels=None, counted=torch.tensor([[False, True, False]]))
    assert counted_outputs(chosen, answer).tolist() == [[False, True, False]]
    assert counted_outputs(padded, torch.zeros(1, 7)).tolist() == [True]
