"""What is recorded is what eager attention computes, and the model computes what it did."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from haarbor.capturing import capture, recorded_calls  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.capturing.small_models import NEVER_CALL_THE_INTERFACE, SMALL_MODELS  # noqa: E402

_STREAMS = {
    "attentions": "self", "encoder_attentions": "encoder", "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}  # fmt: skip


def eager_attentions(small):
    """Stream to list of (head, query, key) arrays, from the model's own output_attentions."""
    model = small.build("eager")
    with torch.no_grad():
        output = model(**small.batch(), output_attentions=True)
    found = {}
    for name, stream in _STREAMS.items():
        layers = getattr(output, name, None)
        if layers:
            found[stream] = [layer[0].numpy() for layer in layers]
    return found


def main_output(output):
    return output.logits if getattr(output, "logits", None) is not None else output.last_hidden_state


def modes(small):
    return ("faithful", "transparent") if small.sdpa else ("faithful",)


CASES = [(name, mode) for name, small in SMALL_MODELS.items() for mode in modes(small)]


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_recorded_probabilities_are_those_of_eager_attention(name, mode, tmp_path):
    small = SMALL_MODELS[name]
    expected = eager_attentions(small)
    run = capture(
        small.build("eager" if mode == "faithful" else "sdpa"), [small.batch()], tmp_path / "run", mode=mode
    )
    assert set(run.streams) == set(expected)
    for stream, layers in expected.items():
        found = np.asarray(run.tensor(0, "probabilities", stream))
        valid_queries = run.mask(0, stream).any(axis=1)
        stacked = np.concatenate(layers).transpose(1, 2, 0)
        assert found.shape == stacked.shape
        np.testing.assert_allclose(found[valid_queries], stacked[valid_queries], atol=1e-5)
        assert not found[~valid_queries].any()


# The sinks of gpt_oss take part of the softmax; they have a test of their own.
@pytest.mark.parametrize(("name", "mode"), [case for case in CASES if case[0] != "gpt_oss"])
def test_the_softmax_of_recorded_logits_under_the_mask_is_what_is_recorded(name, mode, tmp_path):
    small = SMALL_MODELS[name]
    model = small.build("eager" if mode == "faithful" else "sdpa")
    run = capture(model, [small.batch()], tmp_path / "run", mode=mode, content=("probabilities", "logits"))
    for stream in run.streams:
        logits = np.asarray(run.tensor(0, "logits", stream)).astype(np.float64)
        found = np.asarray(run.tensor(0, "probabilities", stream))
        # Layers may have masks of their own (sliding windows): entries are valid where weight is.
        valid = (found > 0) & run.mask(0, stream)[:, :, None]
        scores = np.where(valid, logits, -np.inf)[run.mask(0, stream).any(axis=1)]
        weight = np.exp(scores - scores.max(axis=1, keepdims=True))
        expected = weight / weight.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found[run.mask(0, stream).any(axis=1)], expected, atol=1e-5)


@pytest.mark.parametrize("name", [name for name, small in SMALL_MODELS.items() if small.sdpa])
def test_transparent_capture_leaves_the_output_as_it_was_bit_for_bit(name):
    small = SMALL_MODELS[name]
    model = small.build("sdpa")
    with torch.no_grad():
        before = main_output(model(**small.batch()))
        with recorded_calls(model, lambda *_told: None, mode="transparent"):
            during = main_output(model(**small.batch()))
        after = main_output(model(**small.batch()))
    assert torch.equal(before, during)
    assert torch.equal(before, after)


@pytest.mark.parametrize("name", list(SMALL_MODELS))
def test_faithful_capture_leaves_the_eager_output_as_it_was(name):
    small = SMALL_MODELS[name]
    model = small.build("eager")
    with torch.no_grad():
        before = main_output(model(**small.batch()))
        with recorded_calls(model, lambda *_told: None, mode="faithful"):
            during = main_output(model(**small.batch()))
    assert torch.equal(before, during)


@pytest.mark.parametrize("name", ["gemma2", "gpt_oss"])
def test_transparent_refuses_what_sdpa_leaves_out(name, tmp_path):
    small = SMALL_MODELS[name]
    with pytest.raises(
        CaptureError, match=r"layer model.layers.0.self_attn must support SDPA .*mode='faithful'"
    ):
        capture(small.build("eager"), [small.batch()], tmp_path / "run", mode="transparent")
    assert not (tmp_path / "run").exists()


def test_a_layer_whose_sdpa_gives_another_output_is_refused(tmp_path, monkeypatch):
    small = SMALL_MODELS["llama"]
    functions = transformers.AttentionInterface._global_mapping
    own = functions["sdpa"]

    def twice(*args, **options):
        output, weights = own(*args, **options)
        return 2 * output, weights

    monkeypatch.setitem(functions, "sdpa", twice)
    with pytest.raises(CaptureError, match=r"layers\.0\.self_attn and 2 more .*: what SDPA returns is not"):
        capture(small.build("sdpa"), [small.batch()], tmp_path / "run", mode="transparent")


def test_sinks_take_weight_that_no_key_gets(tmp_path):
    small = SMALL_MODELS["gpt_oss"]
    model = small.build("eager")
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.sinks.fill_(2.0)
    run = capture(model, [small.batch()], tmp_path / "run")
    assert (np.asarray(run.tensor(0)).sum(axis=1) < 0.999).all()


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("mode", ["faithful", "transparent"])
@pytest.mark.parametrize("name", list(NEVER_CALL_THE_INTERFACE))
def test_a_model_that_computes_attention_by_itself_is_recorded_from_its_softmax(name, mode, tmp_path):
    small = NEVER_CALL_THE_INTERFACE[name]
    model = small.build("eager")
    with torch.no_grad():
        own = model(**small.batch(), output_attentions=True)
    run = capture(model, [small.batch()], tmp_path / "run", mode=mode, content=("probabilities", "logits"))
    rows = run.mask(0).any(axis=1)
    expected = np.concatenate([layer[0].numpy() for layer in own.attentions]).transpose(1, 2, 0)
    found = np.asarray(run.tensor(0))
    np.testing.assert_allclose(found[rows], expected[rows], atol=1e-6)
    logits = np.where(found > 0, np.asarray(run.tensor(0, "logits")).astype(np.float64), -np.inf)[rows]
    weight = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found[rows], weight / weight.sum(axis=1, keepdims=True), atol=1e-5)


def test_the_implementation_of_the_model_is_restored_after_an_exception():
    small = SMALL_MODELS["t5"]
    model = small.build("sdpa")

    def fail(*_told):
        raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"), recorded_calls(model, fail, mode="faithful"):
        model(**small.batch())
    assert model.config._attn_implementation == "sdpa"
    from transformers import AttentionInterface

    assert "__getitem__" not in vars(AttentionInterface)
    assert AttentionInterface.get_interface.__module__ == "transformers.modeling_utils"


def test_grouped_heads_are_told_apart_from_their_key_value_heads(tmp_path):
    small = SMALL_MODELS["llama"]
    run = capture(small.build("eager"), [small.batch()], tmp_path / "run")
    assert run.plan.stream().head_groups == (0, 0, 1, 1)
    assert run.heads_per_layer == 4


def test_shared_layers_are_recorded_once_for_each_time_they_run(tmp_path):
    small = SMALL_MODELS["albert"]
    run = capture(small.build("eager"), [small.batch()], tmp_path / "run")
    assert len(run.layers) == 3
    layers = np.asarray(run.tensor(0)).reshape(14, 14, 3, 4)
    assert not np.allclose(layers[:, :, 0], layers[:, :, 1])
