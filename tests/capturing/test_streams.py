"""Attention of different parts and kinds goes into streams named after the parts of the model."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import recorded_calls  # noqa: E402
from haarbor.capturing._streams import LayerCall, is_cross_attention, reads_tokens, stream_names  # noqa: E402


def call(name, shape=(4, 7, 7), *, cross=False):
    return LayerCall(name=name, shape=shape, is_cross=cross)


def test_encoder_decoder_and_cross_attention_of_torch_are_streams(tokens):
    torch.manual_seed(4)
    model = nn.Transformer(32, 4, 2, 3, 48, batch_first=True).eval()
    seen = []

    def on_call(name, module, found, _weights):
        seen.append(call(name, found.shape[1:], cross=is_cross_attention(name, module, model)))

    with torch.no_grad(), recorded_calls(model, on_call):
        model(tokens, tokens[:, :6])
    assert stream_names(seen) == ["encoder"] * 2 + ["decoder", "cross"] * 3


def test_one_part_with_one_kind_of_attention_is_self_whatever_it_is_called():
    assert stream_names([call("bert.encoder.layer.0.attention.self")]) == ["self"]
    assert stream_names([call("attention")]) == ["self"]


def test_towers_of_the_same_shape_are_kept_apart():
    names = [
        "model.vision_tower.vision_model.encoder.layers.0.self_attn",
        "model.language_model.layers.0.self_attn",
    ]
    assert stream_names([call(name) for name in names]) == ["vision_tower", "language_model"]


def test_towers_within_an_encoder_are_named_by_every_branch():
    names = ["model.encoder.text_model.layers.0.attn", "model.encoder.vision_tower.layers.0.attn",
             "model.decoder.layers.0.self_attn"]  # fmt: skip
    assert stream_names([call(name) for name in names]) == [
        "encoder.text_model", "encoder.vision_tower", "decoder",
    ]  # fmt: skip


def test_an_encoder_and_a_decoder_in_a_wrapper_are_called_as_without_it():
    names = ["inner.model.encoder.layers.0.self_attn", "inner.model.decoder.layers.0.self_attn"]
    assert stream_names([call(name) for name in names]) == ["encoder", "decoder"]


def test_cross_attention_of_two_parts_is_told_apart():
    found = stream_names([call("a.layers.0.attn"), call("a.layers.0.cross", cross=True),
                          call("b.layers.0.attn"), call("b.layers.0.cross", cross=True)])  # fmt: skip
    assert found == ["a", "a.cross", "b", "b.cross"]


def test_two_kinds_in_one_layer_are_two_streams_and_one_kind_under_two_names_is_one():
    both = ["layers.0.temporal.attn", "layers.0.spatial.attn", "layers.1.temporal.attn"]
    assert stream_names([call(name) for name in both]) == ["self.temporal", "self.spatial", "self.temporal"]
    either = ["layers.0.local_attn", "layers.1.global_attn"]
    assert stream_names([call(name) for name in either]) == ["self", "self"]


def test_stages_of_a_pyramid_are_named_by_their_numbers():
    shapes = {0: (2, 64, 64), 1: (2, 64, 64), 2: (4, 16, 16)}
    found = stream_names([call(f"stages.{stage}.attn", shape) for stage, shape in shapes.items()])
    assert found == ["self.0-1", "self.0-1", "self.2"]


def test_shapes_that_alternate_are_named_by_themselves():
    shapes = [(2, 8, 8), (4, 8, 8), (2, 8, 8)]
    found = stream_names([call(f"layers.{layer}.attn", shape) for layer, shape in enumerate(shapes)])
    assert found == ["self.2x8x8", "self.4x8x8", "self.2x8x8"]


@pytest.mark.parametrize(
    ("stream", "reads"),
    [("language_model", True), ("gravity_encoder", True), ("vision_tower", False), ("encoder.vit", False)],
)
def test_parts_that_see_or_hear_are_known_by_their_names(stream, reads):
    assert reads_tokens(stream) == reads


def test_names_fit_into_a_store():
    assert stream_names([call("a b.0.attn"), call("c/d.0.attn")]) == ["a_b", "c_d"]


@pytest.mark.parametrize(
    "name",
    [
        "layers.0.encoder_attn",
        "h.0.crossattention.self",
        "l.0.EncDecAttention",
        "decoder.layers.1.cross_attention",
        "encoder.cross_attention.attention",
    ],
)
def test_cross_attention_is_known_by_its_name(name):
    assert is_cross_attention(name, nn.Identity(), nn.Identity())


def test_several_calls_of_one_module_in_a_layer_are_streams_of_their_own():
    layer = [call("layers.0.attn"), call("layers.0.cross", cross=True), call("layers.0.cross", cross=True)]
    assert stream_names(layer) == ["self", "cross.0", "cross.1"]
    # Layers that are used again are further layers.
    assert stream_names(layer[:2] * 2) == ["self", "cross"] * 2
    assert stream_names(layer * 2) == ["self", "cross.0", "cross.1"] * 2


@pytest.mark.parametrize(
    "name", ["cross_encoder.layers.0.self_attn", "cross_encoder.attention", "encoder.layers.0.attention"]
)
def test_the_name_of_a_tower_does_not_make_its_attention_cross(name):
    assert not is_cross_attention(name, nn.Identity(), nn.Identity())


def test_multihead_attn_is_cross_only_beside_self_attn():
    model = nn.Module()
    model.block = nn.Module()
    model.block.multihead_attn = nn.MultiheadAttention(8, 2)
    assert not is_cross_attention("block.multihead_attn", model.block.multihead_attn, model)
    model.block.self_attn = nn.MultiheadAttention(8, 2)
    assert is_cross_attention("block.multihead_attn", model.block.multihead_attn, model)
