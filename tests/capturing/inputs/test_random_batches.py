import pytest
import torch

from haarbor.capturing.inputs import AudioInputs, TokenInputs, model_inputs, random_samples
from haarbor.errors import CaptureError, SettingError
from tests.capturing.inputs.small_models import small_model


@pytest.mark.parametrize(
    "kind",
    ["GPT2LMHeadModel", "BertModel", "RobertaModel", "T5Model", "BartModel", "WhisperModel", "ViTModel"],
)
def test_a_model_takes_its_random_samples(kind):
    model = small_model(kind)
    takes = model_inputs(model)
    samples = random_samples(takes, n_samples=2, n_tokens=7, seed=3)
    for sample in samples:
        with torch.no_grad():
            model(**sample.inputs)
    again = random_samples(takes, n_samples=2, n_tokens=7, seed=3)[1]
    assert all(torch.equal(value, samples[1].inputs[name]) for name, value in again.inputs.items())


def test_random_ids_avoid_those_with_a_meaning():
    takes = TokenInputs(vocab_size=6, max_tokens=None, reserved_ids=frozenset({0, 5}))
    ids = random_samples(takes, n_samples=1, n_tokens=300)[0].inputs["input_ids"]
    assert sorted(set(ids[0].tolist())) == [1, 2, 3, 4]


def test_seeds_give_different_samples_and_are_described():
    takes = TokenInputs(vocab_size=30, max_tokens=None)
    one, two = (random_samples(takes, n_samples=1, n_tokens=20, seed=seed) for seed in (0, 1))
    assert not torch.equal(one[0].inputs["input_ids"], two[0].inputs["input_ids"])
    assert two.description == "random token ids, seed 1"


def test_whisper_hears_noise_and_its_decoder_reads_tokens():
    takes = model_inputs(small_model("WhisperModel"))
    assert isinstance(takes, AudioInputs)
    sample = random_samples(takes, n_samples=1, n_tokens=5)[0]
    assert sample.inputs["input_features"].shape == (1, 4, 12)
    assert sample.inputs["decoder_input_ids"][0, 0] == 3
    assert len(sample.labels) == 6
    assert len(sample.decoder_labels) == 5


def test_a_whisper_encoder_alone_has_no_decoder():
    takes = model_inputs(small_model("WhisperModel").encoder)
    sample = random_samples(takes, n_samples=1, n_tokens=5)[0]
    assert set(sample.inputs) == {"input_features"}
    assert sample.decoder_labels == ()


def test_lengths_that_do_not_fit_are_refused():
    with pytest.raises(CaptureError, match="17 tokens were asked for; the model has positions for 16"):
        random_samples(model_inputs(small_model("GPT2LMHeadModel")), n_samples=1, n_tokens=17)
    with pytest.raises(CaptureError, match="9 tokens were asked for; the model has positions for 8"):
        random_samples(model_inputs(small_model("WhisperModel")), n_samples=1, n_tokens=9)
    with pytest.raises(CaptureError, match=r"need their number\. Pass n_tokens"):
        random_samples(model_inputs(small_model("BertModel")), n_samples=1)


def test_settings_that_are_not_offered_are_refused():
    takes = TokenInputs(vocab_size=30, max_tokens=None)
    with pytest.raises(SettingError, match="at least 1; found 0"):
        random_samples(takes, n_samples=0, n_tokens=3)
    with pytest.raises(SettingError, match="seed must not be negative; found -1"):
        random_samples(takes, n_samples=1, n_tokens=3, seed=-1)
