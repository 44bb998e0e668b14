"""Samples of an encoder-decoder whose decoder reads a text of its own."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import haarbor as hb  # noqa: E402
from haarbor.capturing.inputs import (  # noqa: E402
    DecoderInputs,
    TokenInputs,
    model_inputs,
    random_samples,
    target_tokenizer,
    targeted_samples,
    text_samples,
    token_id_samples,
)
from haarbor.errors import CaptureError, DataError  # noqa: E402
from tests.capturing.inputs.small_models import word_tokenizer  # noqa: E402
from tests.capturing.small_models import SMALL_MODELS  # noqa: E402

DECODER = DecoderInputs(start_id=2, vocab_size=12, max_tokens=8)
PAIR = TokenInputs(vocab_size=12, max_tokens=8, decoder=DECODER)
ALONE = TokenInputs(vocab_size=12, max_tokens=8)


def rows(*ids, takes=PAIR, **options):
    return token_id_samples(np.array(ids), takes=takes, **options)


def test_the_decoder_reads_the_target_one_place_later_and_the_encoder_its_own_text():
    found = targeted_samples(rows([4, 5, 6]), rows([7, 8, 9, 0], takes=ALONE, pad_id=0), takes=PAIR)
    (sample,) = found
    assert sample.inputs["input_ids"].tolist() == [[4, 5, 6]]
    assert sample.inputs["decoder_input_ids"].tolist() == [[2, 7, 8, 9]]
    assert sample.inputs["decoder_attention_mask"].tolist() == [[1, 1, 1, 1]]
    assert sample.decoder_labels == ("2", "7", "8", "9")
    assert sample.labels == ("4", "5", "6")
    assert found.settings["target"].startswith("an array of token ids, rows of 4 token ids, 0 at the end")
    assert f"; the decoder reads {found.settings['target']}" in found.description


def test_padding_of_a_target_is_masked():
    (sample,) = targeted_samples(rows([4, 5]), rows([7, 8, 0, 0], takes=ALONE, pad_id=0), takes=PAIR)
    assert sample.inputs["decoder_attention_mask"].tolist() == [[1, 1, 1, 0]]
    assert sample.decoder_valid.tolist() == [True, True, True, False]


def test_the_digest_depends_on_samples_and_targets():
    one, other = rows([4, 5]), rows([5, 4])
    digests = {
        targeted_samples(a, b, takes=PAIR).content_digest for a, b in ((one, other), (other, one), (one, one))
    }
    assert len(digests) == 3
    assert "" not in digests


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_the_attention_is_that_of_the_model_on_both_texts(tmp_path, name):
    model = SMALL_MODELS[name].build("eager")
    takes = model_inputs(model)
    rng = np.random.default_rng(0)
    read, written = rng.integers(3, 97, (2, 6)), rng.integers(3, 97, (2, 4))
    samples = targeted_samples(
        rows(*read, takes=takes), rows(*written, takes=TokenInputs(vocab_size=97, max_tokens=None)),
        takes=takes,
    )  # fmt: skip
    run = hb.capture(model, samples, tmp_path / "run")
    assert run.plan.settings["target"].startswith("an array of token ids")
    sizes = {stream.name: (stream.n_queries, stream.n_keys) for stream in run.plan.streams}
    assert sizes == {"encoder": (6, 6), "decoder": (4, 4), "cross": (4, 6)}
    shifted = np.concatenate([[[takes.decoder.start_id]], written[1:, :-1]], axis=1)
    with torch.no_grad():
        expected = model(
            input_ids=torch.as_tensor(read[1:]),
            decoder_input_ids=torch.as_tensor(shifted),
            output_attentions=True,
        )
    for stream, layers in (("decoder", "decoder_attentions"), ("cross", "cross_attentions")):
        stacked = torch.cat(getattr(expected, layers), dim=1)[0].permute(1, 2, 0).numpy()
        np.testing.assert_allclose(np.asarray(run.tensor(1, stream=stream)), stacked, atol=1e-6)


def test_the_decoder_of_a_model_of_sound_reads_a_target_too():
    takes = model_inputs(SMALL_MODELS["whisper"].build("eager"))
    sounds = random_samples(takes, n_samples=1, n_tokens=5)
    target = token_id_samples(np.array([[7, 8, 9]]), takes=TokenInputs(vocab_size=97, max_tokens=None))
    (sample,) = targeted_samples(sounds, target, takes=takes)
    assert sample.inputs["decoder_input_ids"].tolist() == [[takes.decoder.start_id, 7, 8]]
    assert "input_features" in sample.inputs


def test_texts_for_the_decoder_are_tokenized_as_targets(tmp_path):
    class Marking:
        """A tokenizer that writes other tokens for the decoder."""

        def __init__(self, inner):
            self.inner = inner

        def __call__(self, text=None, text_target=None, **options):
            return self.inner(text if text_target is None else text_target.replace("cat", "dog"), **options)

        def __getattr__(self, name):
            return getattr(self.inner, name)

    (tmp_path / "story.txt").write_text("the cat sat")
    tokenizer = Marking(word_tokenizer(pad_token="[PAD]"))
    for used, word in ((tokenizer, "cat"), (target_tokenizer(tokenizer), "dog")):
        (sample,) = text_samples(tmp_path / "story.txt", used, n_tokens=3, takes=ALONE)
        assert sample.labels == ("the", word, "sat")
    assert target_tokenizer(None) is None


@pytest.mark.parametrize(
    ("targets", "takes", "error", "message"),
    [
        (rows([7, 8]), ALONE, CaptureError, "this one has no decoder beside an encoder. Leave them out."),
        (rows([7, 8], [7, 8]), PAIR, CaptureError, "one target for each sample; found 2 for 1."),
        (
            [hb.capturing.Sample(inputs={"x": 1}, labels=(), valid=None)], PAIR, CaptureError,
            r"target 0 is not. Make targets with haarbor.capturing.inputs.text_samples",
        ),
        (
            rows([7] * 9, takes=TokenInputs(vocab_size=12, max_tokens=None)), PAIR, CaptureError,
            "9 tokens were asked for; the model has positions for 8",
        ),
        (
            rows([7, 40], takes=TokenInputs(vocab_size=50, max_tokens=None)), PAIR, DataError,
            r"lie in 0..11, the decoder's vocabulary; target 0 has 40",
        ),
        (rows([7, 8]), "words", CaptureError, "must be TokenInputs or AudioInputs; found str"),
    ],
)  # fmt: skip
def test_refusals(targets, takes, error, message):
    with pytest.raises(error, match=message):
        targeted_samples(rows([4, 5]), targets, takes=takes)[0]
