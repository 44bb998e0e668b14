import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import haarbor as hb  # noqa: E402
from haarbor.capturing import load_model  # noqa: E402
from haarbor.capturing.inputs import named_samples  # noqa: E402
from haarbor.errors import CaptureError, SettingError  # noqa: E402
from haarbor.zoo import (  # noqa: E402
    EMBEDDED_NAMES,
    embedded_folder,
    embedded_network,
    embedded_training,
    sample_images,
    sample_text_path,
)


@pytest.mark.parametrize("name", EMBEDDED_NAMES)
def test_embedded_weights_are_half_precision_and_at_most_8_mb(name):
    from safetensors.torch import load_file

    path = embedded_folder(name) / "model.safetensors"
    assert path.stat().st_size <= 8_000_000
    assert {weight.dtype for weight in load_file(path).values()} == {torch.float16}


@pytest.mark.parametrize("name", EMBEDDED_NAMES)
def test_every_embedded_network_has_a_card_with_its_measured_quality(name):
    card = (embedded_folder(name) / "MODEL_CARD.md").read_text(encoding="utf-8")
    quality = embedded_training(name)["quality"]["test"]
    in_words = (
        f"{100 * quality['accuracy']:.2f} %"
        if "accuracy" in quality
        else f"perplexity {quality['perplexity']:.2f}"
    )
    assert in_words in card
    for word in ("Licence", "Data", "Seed", "Loss curve"):
        assert word in card


@pytest.mark.slow
def test_the_vision_transformer_tells_the_sample_images_apart():
    loaded = load_model("zoo:vision-transformer")
    sample = sample_images()
    samples = named_samples("zoo", takes=loaded.takes, n_samples=len(sample.labels))
    pixels = torch.cat([samples[index].inputs["pixel_values"] for index in range(len(samples))])
    with torch.no_grad():
        found = loaded.model(pixels).argmax(dim=1).numpy()
    share = float((found == sample.labels).mean())
    stated = embedded_training("vision-transformer")["quality"]["test"]["accuracy"]
    # Three standard deviations of a share of 400: the sample is drawn from the test set the card speaks of.
    assert abs(share - stated) < 3 * np.sqrt(stated * (1 - stated) / 400)
    assert stated >= 0.85


@pytest.mark.slow
def test_the_transformer_xl_predicts_the_sample_text_better_with_its_memory():
    loaded = load_model("zoo:transformer-xl")
    ids = loaded.tokenizer(sample_text_path().read_text(encoding="utf-8"))["input_ids"][: 16 * 256 + 1]
    rows = torch.tensor(ids)
    losses = {True: [], False: []}
    with torch.no_grad():
        for remember in losses:
            memory = None
            for begin in range(0, 16 * 256, 256):
                output = loaded.model(rows[None, begin : begin + 256], memory)
                memory = output.memory if remember else None
                targets = rows[begin + 1 : begin + 257]
                losses[remember].append(float(torch.nn.functional.cross_entropy(output.logits[0], targets)))
    # The first segment has nothing to remember.
    assert losses[True][0] == losses[False][0]
    assert np.mean(losses[True]) < np.mean(losses[False]) - 0.1
    stated = embedded_training("transformer-xl")["quality"]["test"]["loss"]
    assert abs(np.mean(losses[True]) - stated) < 0.4


@pytest.mark.parametrize("name", EMBEDDED_NAMES)
def test_an_embedded_network_is_captured_as_it_computes(name, tmp_path):
    loaded = load_model(f"zoo:{name}")
    samples = named_samples("zoo", takes=loaded.takes, tokenizer=loaded.tokenizer, n_samples=2, n_tokens=32)
    run = hb.capture(loaded.model, samples, tmp_path / "run", content=("probabilities", "logits"))
    probabilities, logits = (np.asarray(run.tensor(1, content)) for content in ("probabilities", "logits"))
    mask = run.mask(1)
    assert probabilities.shape[2] == loaded.model.config.n_layers * loaded.model.config.n_heads
    scores = np.where(mask[..., None], logits.astype(float), -np.inf)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(probabilities, shares / shares.sum(axis=1, keepdims=True), atol=1e-5)
    causal = np.tril(np.ones(mask.shape, dtype=bool))
    np.testing.assert_array_equal(mask, causal if name == "transformer-xl" else np.ones_like(causal))
    assert run.labels(1).query[0] == ("CLS" if name == "vision-transformer" else run.labels(1).query[0])


def test_the_recorded_attention_gives_the_output_of_the_layer(tmp_path):
    """Probabilities times values, projected, is what the last attention layer put out."""
    model = embedded_network("transformer-xl")
    attention = model.layers[-1].attention
    seen = {}
    attention.register_forward_hook(lambda _m, args, output: seen.update(context=args[1], output=output))
    ids = torch.arange(40)[None] + 300
    run = hb.capture(model, [{"input_ids": ids}], tmp_path / "run")
    weights = torch.from_numpy(np.asarray(run.tensor(0))[:, :, -8:]).permute(2, 0, 1)
    values = attention.key_value(seen["context"]).chunk(2, dim=-1)[1]
    values = values.view(40, 8, 24).transpose(0, 1)
    mixed = (weights @ values).transpose(0, 1).flatten(1)
    torch.testing.assert_close(attention.output(mixed), seen["output"][0], atol=1e-4, rtol=1e-4)


def test_a_network_that_is_not_there_is_refused():
    with pytest.raises(SettingError, match="must be one of transformer-xl, vision-transformer; found 'gpt'"):
        load_model("zoo:gpt")


def test_a_saved_network_of_ones_own_is_loaded_from_its_folder(tmp_path):
    from haarbor.zoo import save_checkpoint

    model = embedded_network("vision-transformer")
    save_checkpoint(tmp_path / "mine", model, embedded_training("vision-transformer"))
    loaded = load_model(tmp_path / "mine")
    assert loaded.name == "mine"
    assert loaded.images.size == (56, 56)
    (tmp_path / "mine" / "training.json").write_text("{}")
    with pytest.raises(CaptureError, match=r"training.json of mine must give mean and std"):
        load_model(tmp_path / "mine")
