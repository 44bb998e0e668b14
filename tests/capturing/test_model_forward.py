"""One forward pass: inputs are put where the weights are, and nothing else is changed."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import model_forward  # noqa: E402
from tests.capturing.small_models import IDS, gpt2  # noqa: E402


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


def test_a_language_model_runs_without_its_cache():
    model = gpt2()
    assert model.config.use_cache
    with torch.no_grad():
        assert model_forward(model, {"input_ids": IDS}).past_key_values is None
