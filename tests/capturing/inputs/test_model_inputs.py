from types import SimpleNamespace

import pytest

from haarbor.capturing.inputs import TokenInputs, model_inputs
from haarbor.capturing.inputs._image_settings import preprocessed_settings
from haarbor.errors import CaptureError
from tests.capturing.inputs.small_models import small_model


@pytest.mark.parametrize(
    ("kind", "max_tokens"),
    [("GPT2LMHeadModel", 16), ("BertModel", 16), ("RobertaModel", 16), ("T5Model", None), ("BartModel", 16)],
)
def test_models_of_tokens_know_how_many_they_take(kind, max_tokens):
    takes = model_inputs(small_model(kind))
    assert isinstance(takes, TokenInputs)
    assert takes.max_tokens == max_tokens
    assert takes.vocab_size == 40


def test_encoder_decoders_know_the_token_they_start_with():
    assert model_inputs(small_model("T5Model")).decoder.start_id == 0
    assert model_inputs(small_model("BartModel")).decoder.start_id == 2
    assert model_inputs(small_model("BertModel")).decoder is None


def test_a_decoder_that_does_not_say_how_it_starts_is_refused():
    model = small_model("T5Model")
    model.config.pad_token_id = None
    with pytest.raises(CaptureError, match="does not say with which token it starts"):
        model_inputs(model)


def test_vision_models_without_an_image_size_are_refused():
    with pytest.raises(CaptureError, match="ViTModel takes images, and its configuration has no image_size"):
        preprocessed_settings(SimpleNamespace(patch_size=4), None, small_model("ViTModel"))


@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
def test_models_of_other_inputs_are_refused_by_name():
    with pytest.raises(CaptureError, match="Wav2Vec2Model takes input_values, for which Haarbor makes no"):
        model_inputs(small_model("Wav2Vec2Model"))
