"""Digests of weights tell any two checkpoints apart, wherever the weights lie."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import _weights_digest as digests  # noqa: E402
from haarbor.capturing import capture  # noqa: E402
from haarbor.capturing._model_identity import config_digest  # noqa: E402
from haarbor.capturing._weights_digest import weights_digest  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.capturing.small_models import SMALL_MODELS, gpt2  # noqa: E402


def pair(*, first="query"):
    """Two layers registered in either order."""
    model = nn.Module()
    for name in (first, "key" if first == "query" else "query"):
        model.add_module(name, nn.Linear(3, 3))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.fill_(float(len(name)))
    return model


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_the_last_bit_of_one_weight_changes_the_digest(dtype):
    model = gpt2().to(dtype)
    same, other = copy.deepcopy(model), copy.deepcopy(model)
    with torch.no_grad():
        weight = other.transformer.h[1].attn.c_attn.weight
        weight[2, 3] *= 1 + torch.finfo(dtype).eps
    assert config_digest(same) == config_digest(model)
    assert config_digest(other) != config_digest(model)
    assert weights_digest(other) != weights_digest(model)


def test_the_digest_does_not_depend_on_the_order_in_which_layers_were_registered():
    assert weights_digest(pair(first="query")) == weights_digest(pair(first="key"))


def test_values_that_change_places_change_the_digest():
    model = pair()
    with torch.no_grad():
        model.query.weight.fill_(1.0)
        model.key.weight.fill_(2.0)
    before = weights_digest(model)
    with torch.no_grad():
        model.query.weight.fill_(2.0)
        model.key.weight.fill_(1.0)
    assert weights_digest(model) != before


def test_a_shape_or_a_dtype_alone_changes_the_digest():
    digests_of = []
    for weight in (
        torch.zeros(2, 3),
        torch.zeros(3, 2),
        torch.zeros(6),
        torch.zeros(2, 3, dtype=torch.int32),
    ):
        model = nn.Module()
        model.register_buffer("weight", weight)
        digests_of.append(weights_digest(model))
    assert len(set(digests_of)) == 4


def test_buffers_count_where_a_checkpoint_would_hold_them():
    models = []
    for kept, passing in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)):
        model = nn.Module()
        model.register_buffer("kept", torch.tensor(kept))
        model.register_buffer("passing", torch.tensor(passing), persistent=False)
        models.append(weights_digest(model))
    assert models[0] != models[1]
    assert models[0] == models[2]


def test_the_digest_does_not_depend_on_threads_pieces_or_strides(monkeypatch):
    model = gpt2()
    expected = weights_digest(model)
    for threads in ("1", "3"):
        monkeypatch.setenv("HAARBOR_NUM_THREADS", threads)
        assert weights_digest(model) == expected
    monkeypatch.setattr(digests, "_PIECE_BYTES", 56)
    assert weights_digest(model) == expected
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                weight.data = weight.data.t().contiguous().t()
    assert weights_digest(model) == expected


def test_tied_weights_are_read_once_and_equal_the_same_weights_untied(monkeypatch):
    read = []
    original = digests._tensor_digest
    monkeypatch.setattr(
        digests, "_tensor_digest", lambda tensor: read.append(tensor.numel()) or original(tensor)
    )
    tied = gpt2()
    found = weights_digest(tied)
    assert read.count(97 * 32) == 1
    untied = copy.deepcopy(tied)
    untied.lm_head.weight = nn.Parameter(untied.lm_head.weight.detach().clone())
    assert weights_digest(untied) == found


def test_offloaded_weights_are_read_where_they_lie(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    expected = weights_digest(gpt2())
    offloaded = accelerate.cpu_offload(gpt2(), execution_device=torch.device("cpu"))
    assert {weight.device.type for weight in offloaded.parameters()} == {"meta"}
    assert weights_digest(offloaded) == expected
    whole = capture(gpt2(), [SMALL_MODELS["gpt2"].batch()], tmp_path / "whole")
    parts = capture(offloaded, [SMALL_MODELS["gpt2"].batch()], tmp_path / "parts")
    np.testing.assert_array_equal(np.asarray(whole.tensor(0)), np.asarray(parts.tensor(0)))


def test_weights_without_values_are_refused_by_name():
    with torch.device("meta"):
        model = nn.Linear(2, 2)
    with pytest.raises(CaptureError, match=r"must have values; weight is on the meta device"):
        weights_digest(model)
    with pytest.raises(CaptureError, match=r"must have values; weight is not initialised"):
        weights_digest(nn.LazyLinear(2))


class NoWeights:
    """A hook as accelerate attaches it, which holds no weights."""


def hooked():
    with torch.device("meta"):
        model = gpt2()
    model._hf_hook = NoWeights()
    return model


def part_on_meta():
    model = gpt2()
    model.transformer.h[1].attn.to("meta")
    return model


def buffer_on_meta():
    model = SMALL_MODELS["llama"].build("eager")
    model.model.rotary_emb.to("meta")
    return model


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (hooked, "transformer.wte.weight"),
        (part_on_meta, "transformer.h.1.attn.c_attn.weight"),
        (buffer_on_meta, "model.rotary_emb.inv_freq"),
    ],
)
def test_weights_without_values_are_refused_before_the_model_runs(build, name, tmp_path):
    model, ran = build(), []
    model.register_forward_pre_hook(lambda *_: ran.append(1))
    with pytest.raises(
        CaptureError, match=rf"must have values; {name} is on the meta device. Load .* device_map=None"
    ) as found:
        capture(model, [SMALL_MODELS["gpt2"].batch()], tmp_path / "run")
    assert "\n" not in str(found.value)
    assert not ran
    assert not (tmp_path / "run").exists()


def test_an_offloaded_model_that_does_not_run_is_refused_with_advice(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    # nn.MultiheadAttention reads the weights of a layer that it does not call.
    layer = nn.TransformerEncoderLayer(32, 4, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    offloaded = accelerate.cpu_offload(model, execution_device=torch.device("cpu"))
    with pytest.raises(CaptureError, match=r"weights are offloaded: load the model whole, with device_map"):
        capture(offloaded, [torch.randn(1, 4, 32)], tmp_path / "run")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_quantised_weights_are_told_apart():
    if not torch.backends.quantized.supported_engines or torch.backends.quantized.engine == "none":
        pytest.skip("this PyTorch cannot quantise")

    def quantised(seed):
        torch.manual_seed(seed)
        return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 4)), {nn.Linear})

    assert weights_digest(quantised(0)) == weights_digest(quantised(0))
    assert weights_digest(quantised(0)) != weights_digest(quantised(1))


def test_a_state_that_is_no_tensor_is_refused_by_name():
    class Odd(nn.Module):
        def get_extra_state(self):
            return object()

    with pytest.raises(CaptureError, match=r"must be tensors; _extra_state holds an? object"):
        weights_digest(Odd())
