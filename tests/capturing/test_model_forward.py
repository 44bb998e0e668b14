"""One forward pass: inputs are put where the weights are, and nothing else is changed."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import capture, model_forward  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.capturing.small_models import IDS, SMALL_MODELS, gpt2  # noqa: E402


class Told(nn.Module):
    """Answers with the arguments that it was called with."""

    def __init__(self):
        super().__init__()
        self.register_parameter("count", nn.Parameter(torch.zeros(1, dtype=torch.int64), requires_grad=False))
        self.weight = nn.Parameter(torch.zeros(1, dtype=torch.float16))

    def forward(self, *args, **kwargs):
        return args, kwargs


def test_moving_inputs_changes_the_dtype_of_floats_alone():
    inputs = {"pixel_values": torch.zeros(1, 3), "attention_mask": torch.ones(1, 3, dtype=torch.int64)}
    args, kwargs = model_forward(Told(), inputs)
    assert args == ()
    assert {name: value.dtype for name, value in kwargs.items()} == {
        "pixel_values": torch.float16,
        "attention_mask": torch.int64,
    }


def test_an_input_without_a_name_is_the_first_argument():
    args, kwargs = model_forward(Told(), {"": torch.ones(2, 3)})
    assert [value.shape for value in args] == [(2, 3)]
    assert kwargs == {}


def test_a_model_without_weights_gets_its_inputs_as_float32():
    assert model_forward(nn.Identity(), {"": torch.ones(2, dtype=torch.float64)}).dtype == torch.float32


def test_whether_there_is_a_cache_is_left_to_the_model():
    model = gpt2()
    with torch.no_grad():
        assert model_forward(model, {"input_ids": IDS}).past_key_values is not None
        model.config.use_cache = False
        assert model_forward(model, {"input_ids": IDS}).past_key_values is None


def test_what_is_no_tensor_is_passed_on_as_it_is():
    given = {"use_cache": False, "past_key_values": None, "scale": 0.5, "count": 3, "task": "mlm"}
    _, kwargs = model_forward(Told(), {**given, "pixels": np.ones((2, 3))[::-1], "step": torch.tensor(3)})
    assert {name: kwargs[name] for name in given} == given
    assert (kwargs["pixels"].dtype, kwargs["pixels"].shape) == (torch.float16, (2, 3))
    assert kwargs["step"] == 3


def test_use_cache_of_the_inputs_is_kept():
    with torch.no_grad():
        found = model_forward(gpt2(), {"input_ids": IDS, "use_cache": True})
        assert found.past_key_values is not None
        assert model_forward(gpt2(), {"input_ids": IDS, "use_cache": False}).past_key_values is None


def test_a_cache_is_not_changed_by_the_model(tmp_path):
    model = gpt2()
    with torch.no_grad():
        cache = model(IDS[:1, :5], use_cache=True).past_key_values
        expected = torch.cat(model(IDS[:1], output_attentions=True).attentions)[:, :, 5:]
    batch = {"input_ids": IDS[:1, 5:], "past_key_values": cache}
    run = capture(model, [batch, batch], tmp_path / "run")
    assert cache.get_seq_length() == 5
    for index in range(2):
        found = np.asarray(run.tensor(index)).transpose(2, 0, 1).reshape(3, 4, 3, 8)
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)


def test_a_cache_that_cannot_be_copied_is_one_line():
    model = gpt2()
    cache = model(IDS[:1, :5], use_cache=True).past_key_values
    with pytest.raises(CaptureError, match=r"'past_key_values', a DynamicCache, cannot: .* torch.no_grad"):
        model_forward(model, {"input_ids": IDS[:1, 5:], "past_key_values": cache})


POSITIONS = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3]])


@pytest.mark.parametrize("name", ["llama", "mistral", "gpt2"])
@pytest.mark.parametrize("extra", [{}, {"use_cache": False}, {"attention_mask": torch.ones(1, 8)}])
def test_positions_that_start_again_mean_what_they_mean_to_the_model(name, extra, tmp_path):
    model = SMALL_MODELS[name].build("eager")
    inputs = {"input_ids": IDS[:1], "position_ids": POSITIONS, **extra}
    with torch.no_grad():
        expected = torch.cat(model(**inputs, output_attentions=True).attentions)
    run = capture(model, [inputs], tmp_path / "run")
    found = np.asarray(run.tensor(0)).transpose(2, 0, 1).reshape(expected.shape)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)


def test_positions_of_a_decoder_mean_what_they_mean_to_the_model():
    small = SMALL_MODELS["whisper"]
    model = small.build("eager")
    inputs = {**small.batch(), "decoder_input_ids": IDS[:1], "decoder_position_ids": POSITIONS}
    inputs["attention_mask"] = torch.ones(1, 40, dtype=torch.int64)
    with torch.no_grad():
        expected = model(**inputs).logits
        np.testing.assert_allclose(model_forward(model, inputs).logits, expected, atol=1e-6)
        assert not torch.allclose(model(**inputs, use_cache=False).logits, expected, atol=1e-6)
