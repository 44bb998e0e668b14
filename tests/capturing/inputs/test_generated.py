"""Prompts with the model's own answers: the attention that wrote them, and what cannot be captured so."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import haarbor as hb  # noqa: E402
from haarbor.capturing.inputs import (  # noqa: E402
    Sample,
    generated_samples,
    model_inputs,
    text_samples,
    token_id_samples,
)
from haarbor.errors import CaptureError, SettingError, StoreError  # noqa: E402
from tests.capturing.inputs.builders import memory_network, windows  # noqa: E402
from tests.capturing.inputs.small_models import small_model, word_tokenizer  # noqa: E402
from tests.capturing.small_models import IMAGES, SMALL_MODELS, gpt2, llava, llava_inputs  # noqa: E402
from tests.store.builders import assert_same_files  # noqa: E402

PROMPTS = np.random.default_rng(0).integers(3, 97, (4, 6))


def prompts(model, **options):
    return token_id_samples(PROMPTS, takes=model_inputs(model), **options)


def attention_while_writing(model, inputs, n_tokens):
    """Attention returned by generate, (query, key, head): the last token is written and never read."""
    found = model.generate(
        **inputs, max_new_tokens=n_tokens, do_sample=False, num_beams=1, output_attentions=True,
        return_dict_in_generate=True, pad_token_id=0,
    )  # fmt: skip
    steps = [torch.cat(layers, dim=1)[0] for layers in found.attentions]
    n_prompt, n_read = steps[0].shape[-1], steps[0].shape[-1] + len(steps) - 1
    rows = []
    for number, step in enumerate(steps):
        # Layers with a sliding window forget the keys before it.
        n_forgotten = n_prompt + number - step.shape[-1]
        rows.append(torch.nn.functional.pad(step, (n_forgotten, n_read - n_forgotten - step.shape[-1])))
    return found.sequences, torch.cat(rows, dim=1).permute(1, 2, 0).numpy()


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "gemma3", "opt"])
def test_one_pass_records_the_attention_that_wrote_the_answer(tmp_path, name):
    model = SMALL_MODELS[name].build("eager")
    run = hb.capture(model, generated_samples(prompts(model), model, n_tokens=7), tmp_path / "run")
    for batch in range(4):
        ids = torch.as_tensor(PROMPTS[batch : batch + 1])
        written, expected = attention_while_writing(
            model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, 7
        )
        found = np.asarray(run.tensor(batch))
        n_read = expected.shape[0]
        np.testing.assert_allclose(found[:n_read, :n_read], expected, atol=5e-7)
        n_written = written.shape[1]
        assert run.labels(batch).query[:n_written] == tuple(map(str, written[0].tolist()))
    assert found.shape[:2] == (13, 13)


def test_prompt_and_answer_are_told_apart_and_the_run_says_how_long_answers_are(tmp_path):
    model = gpt2()
    samples = generated_samples(prompts(model), model, n_tokens=3)
    run = hb.capture(model, samples, tmp_path / "run", settings={"seed": 1})
    assert run.token_kinds(2).query == ("prompt",) * 6 + ("answer",) * 3
    assert run.plan.settings["generate"] == 3
    assert samples.description.endswith("; each with the model's answer of up to 3 tokens")
    assert samples[1:][0].labels == samples[1].labels
    assert hb.capture(model, samples[1:2], tmp_path / "part").plan.settings["generate"] == 3


def test_a_run_that_was_interrupted_goes_on_with_the_same_answers(tmp_path):
    model = gpt2()
    samples = generated_samples(prompts(model), model, n_tokens=3)
    hb.capture(model, samples, tmp_path / "whole")

    def stop(step, done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hb.capture(model, samples, tmp_path / "run", on_progress=stop)
    with pytest.raises(StoreError, match=r"was begun with .*, and this is with"):
        hb.capture(model, generated_samples(prompts(model), model, n_tokens=2), tmp_path / "run")
    again = gpt2()
    hb.capture(again, generated_samples(prompts(again), again, n_tokens=3), tmp_path / "run")
    assert_same_files(tmp_path / "whole", tmp_path / "run")


def ending_early(at):
    """A GPT-2 that writes the end of text, 2, at a position, and 7 before."""
    model = gpt2()
    with torch.no_grad():
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone() * 1e-3)
        model.transformer.ln_f.weight.zero_()
        model.transformer.ln_f.bias.zero_()
        model.transformer.ln_f.bias[0] = 1.0
        model.lm_head.weight[7, 0] = 1.0
    forward = model.transformer.forward

    def marked(*args, **options):
        found = forward(*args, **options)
        past = options.get("past_key_values")
        first = past.get_seq_length() - found.last_hidden_state.shape[1] if past is not None else 0
        for place in range(found.last_hidden_state.shape[1]):
            found.last_hidden_state[:, place, 0] = -5000.0 if first + place == at - 1 else 1.0
        return found

    model.transformer.forward = marked
    with torch.no_grad():
        model.lm_head.weight[2, 0] = -1.0
    return model


def test_an_answer_that_ends_early_is_followed_by_padding_that_is_masked(tmp_path):
    model = ending_early(at=8)
    samples = generated_samples(prompts(model), model, n_tokens=5)
    assert samples[0].inputs["input_ids"][0, 6:].tolist() == [7, 7, 2, 0, 0]
    assert samples[0].kinds[6:] == ("answer", "answer", "answer", "special", "special")
    run = hb.capture(model, samples, tmp_path / "run")
    assert run.mask(0)[8].any()
    assert not run.mask(0)[9:].any()
    assert not run.mask(0)[:, 9:].any()


def test_lines_of_different_lengths_keep_their_padding_behind_the_answer(tmp_path):
    model, tokenizer = small_model("GPT2LMHeadModel"), word_tokenizer(pad_token="[PAD]")
    path = tmp_path / "prompts.txt"
    path.write_text("the cat sat\nthe dog ran far on the mat\n")
    model.generation_config.eos_token_id = None
    lines = text_samples(path, tokenizer, n_tokens=7, takes=model_inputs(model), split="lines")
    samples = generated_samples(lines, model, n_tokens=4, tokenizer=tokenizer)
    first, second = samples
    assert first.labels[:3] == ("the", "cat", "sat")
    assert first.kinds == ("prompt",) * 3 + ("answer",) * 4 + ("special",) * 4
    assert first.labels[7:] == ("[PAD]",) * 4
    assert first.valid.tolist() == [True] * 7 + [False] * 4
    assert second.kinds == ("prompt",) * 7 + ("answer",) * 4
    # Padding changes nothing: the answer is that to the line alone.
    alone = torch.tensor([[4, 5, 6]])
    written = model.generate(
        alone, attention_mask=torch.ones_like(alone), max_new_tokens=4, do_sample=False, pad_token_id=0
    )
    assert first.inputs["input_ids"][0, :7].tolist() == written[0].tolist()


def test_special_tokens_of_the_tokenizer_are_told_from_the_prompt(tmp_path):
    model, tokenizer = small_model("GPT2LMHeadModel"), word_tokenizer(framed=True, cls_token="[CLS]")
    path = tmp_path / "prompts.txt"
    path.write_text("the cat sat on the mat")
    window = text_samples(path, tokenizer, n_tokens=5, takes=model_inputs(model))
    sample = generated_samples(window, model, n_tokens=2, tokenizer=tokenizer)[0]
    assert sample.kinds[:4] == ("special", "prompt", "prompt", "prompt")


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_the_answer_of_an_encoder_decoder_is_what_its_decoder_reads(tmp_path, name):
    model = SMALL_MODELS[name].build("eager")
    samples = generated_samples(prompts(model), model, n_tokens=4)
    run = hb.capture(model, samples, tmp_path / "run")
    ids = torch.as_tensor(PROMPTS[1:2])
    found = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, do_sample=False, num_beams=1,
        output_attentions=True, return_dict_in_generate=True,
    )  # fmt: skip
    n_read = len(found.cross_attentions)
    cross = torch.cat([torch.cat(layers, dim=1)[0] for layers in found.cross_attentions], dim=1)
    expected = cross.permute(1, 2, 0).numpy()
    np.testing.assert_allclose(np.asarray(run.tensor(1, stream="cross"))[:n_read], expected, atol=5e-7)
    assert run.token_kinds(1, "encoder").query == ("prompt",) * 6
    assert run.token_kinds(1, "decoder").query[: n_read + 1] == ("special", *["answer"] * n_read)
    assert run.token_kinds(1, "cross").key == ("prompt",) * 6
    assert run.labels(1, "decoder").query[: n_read + 1] == tuple(map(str, found.sequences[0].tolist()))


def test_a_picture_comes_with_its_prompt(tmp_path):
    model, inputs = llava(), llava_inputs()
    picture = np.zeros((16, 16, 3), dtype=np.uint8)
    sample = Sample(inputs=inputs, labels=(), valid=None, picture=picture)
    run = hb.capture(model, generated_samples([sample], model, n_tokens=3), tmp_path / "run")
    kinds = ("special", "prompt", *["image"] * 16, "prompt", "prompt", "special", *["answer"] * 3)
    assert run.token_kinds(0).query == kinds
    assert run.labels(0).query[2:4] == ("0,0", "0,1")
    _, expected = attention_while_writing(
        model, {**inputs, "attention_mask": torch.ones_like(inputs["input_ids"])}, 3
    )
    found = np.asarray(run.tensor(0, stream="language_model"))
    np.testing.assert_allclose(found[:23, :23], expected, atol=5e-7)


def test_the_embedded_kind_of_network_answers_too(tmp_path):
    model = memory_network(memory_length=0)
    samples = generated_samples(windows(2, 4), model, n_tokens=3)
    ids = windows(2, 4)[1].inputs["input_ids"]
    with torch.no_grad():
        for _ in range(3):
            ids = torch.cat([ids, model(ids).logits[:, -1:].argmax(-1)], dim=1)
    assert samples[1].inputs["input_ids"].tolist() == ids.tolist()
    assert hb.capture(model, samples, tmp_path / "run").token_kinds(0).query[3:5] == ("prompt", "answer")


def test_what_a_checkpoint_recommends_for_sampling_is_put_aside():
    model = gpt2()
    plain = [
        sample.inputs["input_ids"].tolist() for sample in generated_samples(prompts(model), model, n_tokens=6)
    ]
    model.generation_config.update(
        do_sample=True, temperature=0.5, top_k=3, num_beams=3, repetition_penalty=1.9, min_length=40
    )
    again = generated_samples(prompts(model), model, n_tokens=6)
    assert [sample.inputs["input_ids"].tolist() for sample in again] == plain


def test_models_that_cannot_write_are_refused():
    bert = small_model("BertModel")
    with pytest.raises(CaptureError, match="must write text to generate an answer; BertModel cannot"):
        generated_samples(token_id_samples(PROMPTS % 40, takes=model_inputs(bert)), bert, n_tokens=2)


def test_a_model_whose_tokens_look_ahead_is_refused_when_it_reads_back():
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        initializer_range=0.5,
    )  # fmt: skip
    model = transformers.BertLMHeadModel(config).eval()
    samples = generated_samples(prompts(model), model, n_tokens=5)
    with pytest.raises(CaptureError, match=r"must compute what the model computed while it wrote; .*look"):
        samples[0]


def test_prompts_that_cannot_be_answered_are_refused_in_one_line():
    model = gpt2()
    ids = torch.as_tensor(PROMPTS[:1])
    left = Sample(
        inputs={"input_ids": ids, "attention_mask": torch.tensor([[0, 0, 1, 1, 1, 1]])}, labels=(), valid=None
    )
    with pytest.raises(CaptureError, match=r"padding must stand after the text .*padding_side = 'right'"):
        generated_samples([left], model, n_tokens=2)[0]
    placed = Sample(inputs={"input_ids": ids, "position_ids": torch.arange(6)[None]}, labels=(), valid=None)
    with pytest.raises(CaptureError, match="sample 0 has position_ids, too"):
        generated_samples([placed], model, n_tokens=2)[0]
    seen = Sample(inputs={"pixel_values": IMAGES[:1]}, labels=(), valid=None)
    with pytest.raises(CaptureError, match=r"a prompt must be token ids, .* found pixel_values"):
        generated_samples([seen], model, n_tokens=2)
    with pytest.raises(CaptureError, match=r"must fit the 64 positions of the model; prompts of 6 and"):
        generated_samples(prompts(model), model, n_tokens=59)
    with pytest.raises(CaptureError, match="prompts must be samples, at least one; found list"):
        generated_samples([{"input_ids": ids}], model, n_tokens=2)
    with pytest.raises(SettingError, match="the number of tokens to generate must be at least 1"):
        generated_samples(prompts(model), model, n_tokens=0)
    with pytest.raises(CaptureError, match="must be in eval mode"):
        generated_samples(prompts(model), gpt2().train(), n_tokens=2)
