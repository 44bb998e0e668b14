import pytest
import torch

from haarbor.capturing.inputs import TokenInputs, random_samples
from haarbor.capturing.inputs._samples import Sample, chosen_count
from haarbor.errors import CaptureError, SettingError

TAKES = TokenInputs(vocab_size=30, max_tokens=None)


def test_samples_are_the_same_in_any_order():
    samples = random_samples(TAKES, n_samples=4, n_tokens=5)
    last = samples[3].inputs["input_ids"]
    in_order = [sample.inputs["input_ids"] for sample in samples]
    assert torch.equal(last, in_order[3])
    assert torch.equal(samples[-1].inputs["input_ids"], last)
    assert not torch.equal(in_order[0], in_order[1])


def test_a_slice_of_samples_is_samples():
    samples = random_samples(TAKES, n_samples=6, n_tokens=5)
    part = samples[1::2]
    assert len(part) == 3
    assert part.description == samples.description
    assert torch.equal(part[2].inputs["input_ids"], samples[5].inputs["input_ids"])


def test_a_sample_beyond_the_end_is_refused():
    with pytest.raises(IndexError, match="there are 2 samples; number 2 was asked for"):
        random_samples(TAKES, n_samples=2, n_tokens=5)[2]


def test_a_sample_says_its_size_in_one_line():
    assert repr(random_samples(TAKES, n_samples=1, n_tokens=5)[0]) == "Sample(5 tokens, 5 valid)"
    assert repr(Sample(inputs={}, labels=("a",), valid=None)) == "Sample(1 tokens, 1 valid)"


def test_counts_below_one_and_beyond_what_is_there_are_refused():
    with pytest.raises(SettingError, match="at least 1; found 0"):
        chosen_count(0, 3, "rows", "x.npy")
    with pytest.raises(
        CaptureError, match=r"4 batches were asked for; x.npy holds 3 rows. Ask for at most 3"
    ):
        chosen_count(4, 3, "rows", "x.npy")
