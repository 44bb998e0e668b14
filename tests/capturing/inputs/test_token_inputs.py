"""Samples of token ids, and their texts."""

import pytest

from haarbor.capturing.inputs import DecoderInputs, TokenInputs, text_samples
from haarbor.errors import DataError
from tests.capturing.inputs.small_models import byte_tokenizer, word_tokenizer


def test_parts_of_a_character_are_labelled_by_their_entry(tmp_path):
    path = tmp_path / "letters.txt"
    path.write_text("a é", encoding="utf-8")
    (sample,) = text_samples(
        path, byte_tokenizer(), n_tokens=4, takes=TokenInputs(vocab_size=256, max_tokens=None)
    )
    assert sample.labels == ("a", " ", "Ã", "©")


def test_a_decoder_reads_the_same_text_one_place_later(story):
    takes = TokenInputs(
        vocab_size=12, max_tokens=8, decoder=DecoderInputs(start_id=2, vocab_size=12, max_tokens=8)
    )
    tokenizer = word_tokenizer(pad_token="[PAD]")
    sample = text_samples(story, tokenizer, n_tokens=5, takes=takes, split="lines")[0]
    assert sample.inputs["input_ids"].tolist() == [[4, 5, 6, 0, 0]]
    assert sample.inputs["decoder_input_ids"].tolist() == [[2, 4, 5, 6, 0]]
    assert sample.inputs["decoder_attention_mask"].tolist() == [[1, 1, 1, 1, 0]]
    assert sample.decoder_labels == ("[CLS]", "the", "cat", "sat", "[PAD]")
    assert sample.decoder_valid.tolist() == [True, True, True, True, False]


def test_ids_beyond_the_models_vocabulary_are_refused(story):
    samples = text_samples(story, word_tokenizer(), n_tokens=4, takes=TokenInputs(vocab_size=6, max_tokens=8))
    with pytest.raises(
        DataError, match=r"lie in 0..5, the model's vocabulary; found 6. Use the tokenizer that"
    ):
        samples[0]
