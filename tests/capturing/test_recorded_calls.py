"""Attention calls are reported whatever library a model is of."""

import weakref

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import is_huggingface, model_forward, recorded_calls  # noqa: E402
from tests.capturing.small_models import IDS, SMALL_MODELS, gpt2  # noqa: E402


def encoder():
    layer = nn.TransformerEncoderLayer(32, 4, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()


@pytest.mark.parametrize(
    ("build", "inputs", "names"),
    [
        (gpt2, {"input_ids": IDS}, [f"transformer.h.{layer}.attn" for layer in range(3)]),
        (encoder, {"": torch.ones(1, 5, 32)}, [f"layers.{layer}.self_attn" for layer in range(2)]),
    ],
    ids=["transformers", "torch"],
)
def test_every_layer_is_reported_once_and_in_order(build, inputs, names):
    model, seen = build(), []
    with torch.no_grad(), recorded_calls(model, lambda name, _module, _call, _weights: seen.append(name)):
        model_forward(model, inputs)
    assert seen == names


def test_the_mode_decides_what_computes_the_attention_of_a_hugging_face_model():
    model = SMALL_MODELS["gpt2"].build("sdpa")
    known = {}
    for mode in ("faithful", "transparent"):
        known[mode] = []
        told = known[mode].append
        with torch.no_grad(), recorded_calls(model, lambda *call, told=told: told(call[3]), mode=mode):
            model_forward(model, {"input_ids": IDS})
    assert all(weights is not None for weights in known["faithful"])
    assert all(weights is None for weights in known["transparent"])


@pytest.mark.parametrize("checked", [False, True])
def test_what_a_report_computes_is_not_held(checked):
    model = SMALL_MODELS["gpt2"].build("sdpa")
    held = []

    def on_call(_name, _module, call, _weights):
        for where, rows in call.blocks(most_bytes=4 * 8 * 2):
            weights = call.probabilities(call.logits(where, rows), where, rows)
            held.append(weakref.ref(weights))
            del weights
            assert held[-1]() is None

    with torch.no_grad(), recorded_calls(model, on_call, mode="transparent", checked=checked):
        model_forward(model, {"input_ids": IDS[:1]})
    assert len(held) == 3 * 4 * 4


def test_models_of_transformers_are_told_from_others():
    assert is_huggingface(gpt2())
    assert is_huggingface(type("Own", (type(gpt2()),), {"__module__": "mine"})(gpt2().config))
    assert not is_huggingface(encoder())
