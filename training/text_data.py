"""Text as token ids, laid out as parallel streams that a memory can follow."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor


def read_text(path: Path) -> str:
    """Content of a text file, or of one compressed with xz."""
    if path.suffix == ".xz":
        with lzma.open(path, "rt", encoding="utf-8") as file:
            return file.read()
    return path.read_text(encoding="utf-8")


def find_part(data: Path, part: str) -> Path:
    """File of one part (train, valid or test) in a folder of text files."""
    for name in (f"{part}.txt", f"{part}.txt.xz"):
        if (data / name).is_file():
            return data / name
    raise SystemExit(f"{data} must hold {part}.txt or {part}.txt.xz; it holds neither.")


def token_ids(text: str, tokenizer: Tokenizer) -> np.ndarray:
    """Ids of a whole text."""
    return np.array(tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int32)


def streams(ids: np.ndarray, n_streams: int, device: str) -> Tensor:
    """Text cut into `n_streams` parts that are read side by side, shape (n_streams, length)."""
    length = len(ids) // n_streams
    if length < 2:
        raise SystemExit(f"{len(ids)} tokens are too few for {n_streams} streams; take fewer.")
    rows = ids[: n_streams * length].reshape(n_streams, length)
    return torch.from_numpy(rows.astype(np.int64)).to(device)


def segments(rows: Tensor, n_tokens: int, offset: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
    """Consecutive segments of all streams with the tokens that follow; a short rest is left out."""
    for begin in range(offset, rows.shape[1] - n_tokens, n_tokens):
        yield rows[:, begin : begin + n_tokens], rows[:, begin + 1 : begin + n_tokens + 1]
