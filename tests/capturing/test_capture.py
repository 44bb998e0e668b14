"""Arguments of haarbor.capture that are none, and models whose attention cannot be seen: one line each."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import haarbor as hb  # noqa: E402
from haarbor.capturing import Sample, capture, load_model  # noqa: E402
from haarbor.errors import CaptureError, HaarborError  # noqa: E402
from haarbor.store import import_arrays  # noqa: E402
from tests.capturing.small_models import IDS, SMALL_MODELS, gpt2  # noqa: E402

BATCH = SMALL_MODELS["gpt2"].batch()


@pytest.mark.parametrize("model", [None, 5, "zoo:transformer-xl", nn.Linear, [nn.Linear(2, 2)]])
def test_what_is_no_model_is_one_line(model, tmp_path):
    with pytest.raises(
        CaptureError, match=r"the model must be a torch.nn.Module; found .*load_model\(name\)"
    ):
        hb.capture(model, [BATCH], tmp_path / "run")


def test_a_loaded_model_is_told_from_its_model(tmp_path):
    with pytest.raises(CaptureError, match=r"found LoadedModel. Pass its .model."):
        hb.capture(load_model("zoo:vision-transformer"), [BATCH], tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"content": ""}, "content must be a sequence of 'probabilities' and 'logits'; found ''. Write"),
        ({"content": None}, "content must be .* found None"),
        ({"content": "logits"}, "content must be .* found 'logits'. Write"),
        ({"content": 5}, "content must be .* found 5"),
        ({"content": ()}, r"content must be .* found \(\)"),
        ({"content": ("weights",)}, "content must be .* found .'weights'"),
        ({"content": (None,)}, "content must be .* found .None"),
        ({"content": ("logits", "logits")}, "contents must be among .* each once"),
        ({"dtype": int}, "dtype must be 'float16' or 'float32'; found <class 'int'>"),
        ({"dtype": torch.float16}, "dtype must be 'float16' or 'float32'; found torch.float16"),
        ({"dtype": np.float32}, "dtype must be 'float16' or 'float32'; found <class"),
        ({"dtype": "float64"}, "dtype must be 'float16' or 'float32'; found 'float64'"),
        ({"dtype": None}, "dtype must be 'float16' or 'float32'; found None"),
        ({"mode": None}, "mode must be 'auto' or 'faithful' or 'transparent'; found None"),
        ({"mode": ["faithful"]}, "mode must be .* or 'transparent'; found .'faithful'"),
        ({"name": 5}, "name must be the model's name, as text; found 5"),
        ({"settings": "seed"}, "settings must be a mapping of names to JSON values; found 'seed'"),
        ({"settings": {"when": object()}}, "settings must hold JSON values"),
        ({"settings": {"share": float("nan")}}, "settings must hold JSON values"),
        ({"on_progress": 5}, "must be functions; found 5"),
        ({"on_plan": "print"}, "must be functions; found 'print'"),
    ],
)
def test_options_that_are_none_are_one_line(options, message, tmp_path):
    with pytest.raises(HaarborError, match=message) as found:
        hb.capture(gpt2(), [BATCH], tmp_path / "run", **options)
    assert "\n" not in str(found.value)
    assert not (tmp_path / "run").exists()


class Einsum(nn.Module):
    """Attention as many people write it."""

    def __init__(self):
        super().__init__()
        self.packed = nn.Linear(32, 96)

    def parts(self, x):
        return self.packed(x).view(x.shape[0], -1, 3, 4, 8).unbind(2)

    def forward(self, x):
        q, k, v = self.parts(x)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / 8**0.5
        return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v).flatten(2)


class Rewritten(Einsum):
    """The same, in the two lines that the message asks for."""

    def forward(self, x):
        q, k, v = self.parts(x)
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=None)
        return mixed.transpose(1, 2).flatten(2)


def test_attention_by_einsum_is_refused_with_advice_that_works(tmp_path):
    torch.manual_seed(0)
    model, tokens = Einsum().eval(), torch.randn(1, 6, 32)
    with pytest.raises(CaptureError) as found:
        hb.capture(model, [tokens], tmp_path / "run")
    said = str(found.value)
    assert "\n" not in said
    for words in (
        "q, k, v = (x.transpose(1, 2) for x in (q, k, v))",
        "mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
        "haarbor.import_arrays(weights, location, axes=('head', 'query', 'key'))",
    ):
        assert words in said
    rewritten = Rewritten().eval()
    rewritten.load_state_dict(model.state_dict())
    torch.testing.assert_close(rewritten(tokens), model(tokens), atol=1e-6, rtol=1e-5)
    run = hb.capture(rewritten, [tokens], tmp_path / "rewritten")
    with torch.no_grad():
        q, k, _ = model.parts(tokens)
        weights = (torch.einsum("bqhd,bkhd->bhqk", q, k) / 8**0.5).softmax(-1)[0]
    imported = import_arrays(weights, tmp_path / "imported", axes=("head", "query", "key"))
    np.testing.assert_allclose(np.asarray(run.tensor(0)), np.asarray(imported.tensor(0)), atol=1e-6)


def test_inputs_that_carry_gradients_are_taken(tmp_path):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    tokens = torch.randn(1, 4, 32)
    expected = capture(model, [tokens], tmp_path / "plain")
    found = capture(model, [tokens.clone().requires_grad_()], tmp_path / "grad")
    np.testing.assert_array_equal(np.asarray(found.tensor(0)), np.asarray(expected.tensor(0)))


def test_a_model_in_bfloat16_is_captured(tmp_path):
    # Without oneDNN, which uses instructions that some virtual machines promise and do not have.
    before, *_ = torch.backends.mkldnn.set_flags(False)
    try:
        run = capture(gpt2().bfloat16(), [IDS[:1]], tmp_path / "run", content=("probabilities", "logits"))
    finally:
        torch.backends.mkldnn.set_flags(before)
    np.testing.assert_allclose(np.asarray(run.tensor(0)).sum(axis=1), 1, atol=0.02)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (torch.full((1, 4), 4000), r"fails on inputs \(1, 4\) with IndexError"),
        ({"unheard_of": IDS}, r"fails on unheard_of \(1, 8\) with (TypeError|ValueError)"),
        (torch.zeros(1, 4, 4, 4), r"fails on inputs \(1, 4, 4, 4\) with "),
    ],
)
def test_a_model_that_fails_on_its_inputs_is_one_line(batch, message, tmp_path):
    with pytest.raises(CaptureError, match=message) as found:
        capture(gpt2(), [batch], tmp_path / "run")
    assert "\n" not in str(found.value)
    assert found.value.__cause__ is not None


def test_padding_is_masked_out(tmp_path):
    small = SMALL_MODELS["bert"]
    run = capture(small.build("eager"), [small.batch()], tmp_path / "run")
    mask = run.mask(0)
    assert mask[:11, :11].all()
    assert not mask[11:].any()
    assert not mask[:, 11:].any()


def test_every_element_of_a_batch_becomes_a_batch_of_the_run(tmp_path):
    small = SMALL_MODELS["gpt2"]
    model = small.build("eager")
    ids = torch.randint(0, 97, (3, 8), generator=torch.Generator().manual_seed(0))
    together = capture(model, [{"input_ids": ids}], tmp_path / "together")
    apart = capture(model, [{"input_ids": row[None]} for row in ids], tmp_path / "apart")
    assert together.batches == apart.batches == (0, 1, 2)
    for batch in range(3):
        np.testing.assert_array_equal(np.asarray(together.tensor(batch)), np.asarray(apart.tensor(batch)))


def test_a_model_in_training_mode_is_refused(tmp_path):
    small = SMALL_MODELS["gpt2"]
    with pytest.raises(CaptureError, match=r"eval mode.*model.eval\(\)"):
        capture(small.build("eager").train(), [small.batch()], tmp_path / "run")


def test_an_interrupted_capture_goes_on_and_equals_an_uninterrupted_one(tmp_path):
    small = SMALL_MODELS["gpt2"]
    model = small.build("eager")
    batches = [
        {"input_ids": torch.randint(0, 97, (1, 8), generator=torch.Generator().manual_seed(i))}
        for i in range(4)
    ]
    whole = capture(model, batches, tmp_path / "whole")

    def stop_after_two(_step, done, _total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        capture(model, batches, tmp_path / "parts", on_progress=stop_after_two)
    done = []
    capture(model, batches, tmp_path / "parts", on_progress=lambda _step, index, _total: done.append(index))
    assert done == [3, 4]
    files = sorted(
        path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*") if path.is_file()
    )
    assert files == sorted(
        path.relative_to(tmp_path / "parts") for path in (tmp_path / "parts").rglob("*") if path.is_file()
    )
    for path in files:
        assert (tmp_path / "whole" / path).read_bytes() == (tmp_path / "parts" / path).read_bytes(), path
    assert whole.n_batches == 4


def test_what_a_vision_model_saw_is_kept_beside_its_attention(tmp_path):
    from haarbor.capturing.inputs import image_samples, model_inputs

    model = SMALL_MODELS["vit"].build("eager")
    pixels = np.random.default_rng(0).integers(0, 256, (2, 16, 16, 3), dtype=np.uint8)
    samples = image_samples(pixels, settings=model_inputs(model))
    run = capture(model, samples, tmp_path / "run")
    assert run.plan.labels == "patches"
    for batch in run.batches:
        np.testing.assert_array_equal(run.picture(batch), pixels[batch])


class Patches(nn.Module):
    """Takes as vision-language models do: patches of all images in one row, and how many each image has."""

    def __init__(self):
        super().__init__()
        self.layer = Rewritten()

    def forward(self, input_ids, pixel_values, image_grid_thw, *, scale=1.0):
        assert (input_ids.shape, pixel_values.shape, image_grid_thw.shape) == ((1, 8), (20, 32), (2, 3))
        return self.layer(scale * pixel_values[None])


def test_a_sample_may_have_tensors_of_several_sizes(tmp_path):
    inputs = {
        "input_ids": IDS[:1],
        "pixel_values": torch.randn(20, 32),
        "image_grid_thw": torch.tensor([[1, 2, 5], [1, 2, 5]]),
        "scale": 0.5,
    }
    with pytest.raises(CaptureError, match=r"one batch size; .* haarbor.capturing.Sample"):
        capture(Patches().eval(), [inputs], tmp_path / "apart")
    run = capture(Patches().eval(), [Sample(inputs=inputs, labels=(), valid=None)], tmp_path / "run")
    assert run.tensor(0).shape == (20, 20, 4)


def test_options_of_the_forward_are_inputs(tmp_path):
    small = SMALL_MODELS["gpt2"]
    inputs = {**small.batch(), "use_cache": False, "past_key_values": None, "logits_to_keep": 1}
    expected = capture(small.build("eager"), [small.batch()], tmp_path / "plain")
    for form in (inputs, Sample(inputs=inputs, labels=(), valid=None)):
        found = capture(small.build("eager"), [form], tmp_path / type(form).__name__)
        np.testing.assert_array_equal(np.asarray(found.tensor(0)), np.asarray(expected.tensor(0)))


def test_a_picture_larger_than_the_model_was_trained_on_is_an_option_away(tmp_path):
    model = SMALL_MODELS["vit"].build("eager")
    batch = {"pixel_values": torch.randn(2, 3, 24, 24), "interpolate_pos_encoding": True}
    assert capture(model, [batch], tmp_path / "run").tensor(1).shape == (37, 37, 12)
    with pytest.raises(CaptureError, match=r"fails on pixel_values \(1, 3, 24, 24\), head_count int with "):
        capture(model, [{"pixel_values": batch["pixel_values"], "head_count": 3}], tmp_path / "other")
