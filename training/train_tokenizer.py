"""Byte-level BPE vocabulary of a text.

python training/train_tokenizer.py --data FOLDER --out tokenizer.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from text_data import find_part, read_text, token_ids
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers


def trained_tokenizer(text: str, vocab_size: int) -> Tokenizer:
    """Vocabulary of all bytes, the corpus' own mark for rare words, and the most frequent merges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<unk>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.splitlines(keepends=True), trainer)
    return tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with train.txt or train.txt.xz")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--vocab-size", type=int, default=4096)
    options = parser.parse_args()
    text = read_text(find_part(options.data, "train"))
    tokenizer = trained_tokenizer(text, options.vocab_size)
    tokenizer.save(str(options.out), pretty=False)
    n_tokens = len(token_ids(text, tokenizer))
    length = len(text) / n_tokens
    print(f"{tokenizer.get_vocab_size()} entries; {n_tokens} training tokens of {length:.2f} characters")


if __name__ == "__main__":
    main()
