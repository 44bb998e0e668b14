"""Batches as people have them: loaders of pairs, dictionaries, named tuples; what is unclear is one line."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from haarbor.capturing import Sample, capture  # noqa: E402
from haarbor.capturing._batch_samples import BatchSamples  # noqa: E402
from haarbor.capturing.inputs import TokenInputs, random_samples  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.capturing.small_models import IDS, IMAGES, SMALL_MODELS, gpt2  # noqa: E402


def test_pairs_of_a_loader_are_taken_without_their_labels(tmp_path):
    model = SMALL_MODELS["vit"].build("eager")
    loader = DataLoader(TensorDataset(IMAGES, torch.tensor([0, 1, 1])), batch_size=2)
    found = capture(model, loader, tmp_path / "pairs")
    expected = capture(model, [IMAGES], tmp_path / "plain")
    assert found.n_batches == 3
    for batch in range(3):
        np.testing.assert_array_equal(np.asarray(found.tensor(batch)), np.asarray(expected.tensor(batch)))


def test_only_missing_samples_are_made():
    made = []

    class Counted(type(random_samples(TokenInputs(vocab_size=9, max_tokens=None), n_samples=1, n_tokens=2))):
        def sample(self, index):
            made.append(index)
            return super().sample(index)

    samples = Counted(TokenInputs(vocab_size=9, max_tokens=None), 6, 2, 0)
    found = [index for index, _ in BatchSamples(samples, gpt2()).missing({0, 1, 4})]
    assert found == made == [2, 3, 5]


def test_samples_are_counted_where_they_can_be():
    model = gpt2()
    one = Sample(inputs={"input_ids": IDS[:1]}, labels=(), valid=None)
    assert BatchSamples([IDS, IDS[:2]], model).n_samples == 5
    assert BatchSamples([one, one], model).n_samples == 2
    assert BatchSamples(one, model).n_samples == 1
    assert BatchSamples(random_samples(TokenInputs(vocab_size=9, max_tokens=None), n_samples=7, n_tokens=2),
                        model).n_samples == 7  # fmt: skip
    assert BatchSamples(iter([IDS]), model).n_samples is None
    assert BatchSamples(DataLoader(TensorDataset(IDS)), model).n_samples is None


def test_padding_of_the_decoder_is_known():
    valid = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]])
    batch = {"input_ids": IDS, "decoder_input_ids": IDS[:, :4], "decoder_attention_mask": valid}
    model = SMALL_MODELS["bart"].build("eager")
    found = [sample for _, sample in BatchSamples(batch, model).missing(())]
    assert [sample.decoder_valid.tolist() for sample in found] == valid.bool().tolist()
    assert all(sample.valid is None for sample in found)
    (plain, *_) = [sample for _, sample in BatchSamples({"input_ids": IDS}, model).missing(())]
    assert plain.decoder_valid.size == 0


def test_padded_tokens_of_the_decoder_are_masked_out(tmp_path):
    valid = torch.tensor([[1, 1, 1, 0]])
    batch = {"input_ids": IDS[:1], "decoder_input_ids": IDS[:1, :4], "decoder_attention_mask": valid}
    run = capture(SMALL_MODELS["bart"].build("eager"), [batch], tmp_path / "run")
    assert not run.mask(0, stream="cross")[3].any()
    assert run.mask(0, stream="cross")[:3].all()


def test_a_sample_is_passed_on_untouched():
    inputs = {
        "pixel_values": torch.randn(20, 6),
        "image_grid_thw": torch.tensor([[1, 4, 5]]),
        "input_ids": IDS[:1],
        "use_cache": False,
        "nothing": None,
    }
    ((_, found),) = BatchSamples([Sample(inputs=inputs, labels=(), valid=None)], gpt2()).missing(())
    assert found.inputs is inputs


def test_ids_of_a_sample_have_a_batch_axis():
    sample = Sample(inputs={"input_ids": IDS[0]}, labels=(), valid=None)
    with pytest.raises(CaptureError, match=r"input_ids has shape \(8,\). Write ids.None."):
        list(BatchSamples([sample], gpt2()).missing(()))
