import numpy as np
import pytest
import torch

from haarbor.diagnostics._repeated_tokens import repeated_batches, repeated_figures
from haarbor.pruning import model_batches


def test_rows_repeat_without_padding_and_keep_their_arguments():
    (like,) = model_batches(
        {"input_ids": torch.arange(8)[None], "attention_mask": torch.tensor([[1] * 6 + [0] * 2])}
    )
    batches = repeated_batches(like, np.arange(100, 140), 7, 3, seed=1)
    for batch in batches:
        (row,) = batch.inputs["input_ids"].numpy()
        np.testing.assert_array_equal(row[:7], row[7:])
        assert np.unique(row).size == 7
        assert row.min() >= 100
        assert batch.inputs["attention_mask"].shape == (1, 14)
        assert batch.inputs["attention_mask"].all()
    assert len({tuple(batch.inputs["input_ids"][0].tolist()) for batch in batches}) == 3


@pytest.mark.parametrize("is_causal", [True, False])
def test_figures_are_means_over_the_queries_that_have_such_a_token(rng, is_causal):
    T = 5
    A = rng.random((2, 2 * T, 2 * T))
    found = repeated_figures(A, T, is_causal=is_causal)
    for head in range(2):
        pairs = {"duplicate_token": [], "induction": []}
        for i in range(2 * T):
            for j in range(2 * T):
                if is_causal and i < T:
                    continue
                if abs(i - j) == T:
                    pairs["duplicate_token"].append(A[head, i, j])
                # The token behind the other occurrence of the query's token.
                if j - 1 in (i - T, i + T) and j - 1 >= 0:
                    pairs["induction"].append(A[head, i, j])
        for name, values in pairs.items():
            np.testing.assert_allclose(found[name][head], np.mean(values))
        np.testing.assert_allclose(
            found["previous_repeated"][head], np.mean([A[head, i, i - 1] for i in range(1, 2 * T)])
        )
