"""Words of a tokenizer's own vocabulary that it cuts into pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["SplitWords", "split_words"]

_MARKS = ("\u0120", "\u2581")
"""How a token that begins a word begins: in vocabularies of bytes, and in those of SentencePiece."""
_N_TRIED = 200
_MOST_SPLIT = 0.5
"""Share of the words from which on a tokenizer is read wrong. One that is read right splits hardly any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitWords:
    """How many whole words of a vocabulary do not come back as the one token that they are."""

    n_split: int
    n_tried: int
    example: str
    """The first of them, and what it becomes; empty if there is none."""

    @property
    def too_many(self) -> bool:
        """Whether the tokenizer cannot be the one that the network was trained with."""
        return self.n_split > _MOST_SPLIT * self.n_tried


def split_words(tokenizer: Any) -> SplitWords:
    """Words of the vocabulary that a tokenizer cuts into pieces.

    Parameters
    ----------
    tokenizer : transformers tokenizer

    Returns
    -------
    SplitWords
        Of at most 200 words, spread evenly over the vocabulary; of none if it does not mark where words
        begin.

    Notes
    -----
    A file of weights may bring a vocabulary without the rules that put it together, and whoever reads it
    makes them up. Where that goes wrong, the network is shown letters in place of words, answers much worse,
    and nothing says so.
    """
    vocabulary = tokenizer.get_vocab().items()
    # Of letters alone, so that it cannot matter how signs and digits are kept apart.
    words = sorted(
        (number, token[1:])
        for token, number in vocabulary
        if token.startswith(_MARKS) and len(token) > 2 and token[1:].isascii() and token[1:].isalpha()
    )
    tried = words[:: max(1, len(words) // _N_TRIED)][:_N_TRIED]
    n_split, example = 0, ""
    for number, word in tried:
        # Behind another word: at the beginning of a text some tokenizers write no mark, and some two.
        ids = tokenizer(f"x {word}", add_special_tokens=False)["input_ids"]
        if ids[-1:] != [number]:
            n_split += 1
            pieces = [token.lstrip("".join(_MARKS)) for token in tokenizer.convert_ids_to_tokens(ids[1:])]
            example = example or f"{word!r} becomes {' + '.join(map(repr, pieces))}"
    return SplitWords(n_split=n_split, n_tried=len(tried), example=example)
