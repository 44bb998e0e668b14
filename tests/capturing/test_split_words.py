"""A tokenizer that cuts the words of its own vocabulary into pieces is noticed."""

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from haarbor.capturing._split_words import split_words

_WORDS = ["the", "tower", "iron", "old", "town"]


def fast_tokenizer(merges, vocabulary, *, marked="\u0120"):
    """A byte-level tokenizer with these merges; `vocabulary` has whole words behind their mark."""
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = list(
        dict.fromkeys([*letters, *(a + b for a, b in merges), *(marked + word for word in vocabulary)])
    )
    made = Tokenizer(models.BPE(vocab={piece: n for n, piece in enumerate(pieces)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=made)


def merges_of(words, mark="\u0120"):
    """Merges that put each word together from left to right."""
    found = []
    for word in words:
        text = mark + word
        found += [(text[:end], text[end]) for end in range(1, len(text))]
    return list(dict.fromkeys(found))


def test_words_that_are_put_together_are_not_split():
    found = split_words(fast_tokenizer(merges_of(_WORDS), _WORDS))
    assert found.n_tried > len(_WORDS)
    assert found.n_split == 0
    assert found.example == ""
    assert not found.too_many


def test_words_without_rules_to_put_them_together_are_split():
    found = split_words(fast_tokenizer([("t", "h")], _WORDS))
    assert (found.n_split, found.n_tried) == (5, 5)
    assert found.example == "'the' becomes '' + 'th' + 'e'"
    assert found.too_many


@pytest.mark.parametrize(("n_known", "too_many"), [(2, True), (3, False)])
def test_half_of_the_words_are_enough_to_say_so(n_known, too_many):
    known = ["ab", "cd", "ef", "gh"][:n_known]
    vocabulary = ["ab", "cd", "ef", "gh", "ij"]
    found = split_words(fast_tokenizer(merges_of(known), vocabulary))
    assert (found.n_split, found.n_tried) == (5 - n_known, 5)
    assert found.too_many is too_many


def test_signs_digits_and_single_letters_are_not_asked_for():
    found = split_words(fast_tokenizer([], ["a", "12", "x1", "..", "\u0120\u0120", "word"]))
    assert found.n_tried == 1


def test_a_vocabulary_without_marks_is_not_judged():
    found = split_words(fast_tokenizer([], _WORDS, marked="_"))
    assert (found.n_tried, found.too_many) == (0, False)


def test_a_large_vocabulary_is_tried_evenly():
    class Counting:
        """Whole words only, each its own token; remembers what it was asked."""

        asked: list[str]

        def __init__(self):
            names = np.random.default_rng(0).choice(list("abcdefgh"), size=(3000, 7))
            self.words = sorted({"".join(row) for row in names})
            self.asked = []

        def get_vocab(self):
            return {f"\u2581{word}": number for number, word in enumerate(self.words)}

        def __call__(self, text, *, add_special_tokens):
            assert not add_special_tokens
            self.asked.append(text)
            return {"input_ids": [-1, self.words.index(text.split()[1])]}

    tokenizer = Counting()
    found = split_words(tokenizer)
    assert (found.n_tried, found.n_split) == (200, 0)
    places = [tokenizer.words.index(text.split()[1]) for text in tokenizer.asked]
    assert max(np.diff(places)) == min(np.diff(places)) == len(tokenizer.words) // 200
