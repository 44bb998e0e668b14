"""Samples of text: consecutive windows of the whole text, or one document per line."""

from __future__ import annotations

import codecs
import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np

from haarbor.array_types import IntArray
from haarbor.capturing._first_line import first_line
from haarbor.capturing.inputs._samples import (
    Sample,
    Samples,
    checked_count,
    chosen_count,
    digest_of_bytes,
    require_takes,
)
from haarbor.capturing.inputs._token_inputs import TokenInputs, require_length, token_sample, token_texts
from haarbor.errors import CaptureError, SettingError
from haarbor.named_path import named_path

__all__ = ["Documents", "Split", "TextWindows", "text_pieces_samples", "text_samples"]

Split = Literal["whole", "lines"]

# Of a long text only the beginning is tokenised. How much of it: at least _FIRST_CHARACTERS, and at least
# _CHARACTERS_PER_TOKEN for each token that is needed. If this gives too few tokens, twice as much is tried.
# Cutting the text may change its last tokens, so _SPARE_TOKENS more than needed must be there.
_FIRST_CHARACTERS = 1 << 20
_CHARACTERS_PER_TOKEN = 8
_SPARE_TOKENS = 64


def text_samples(
    path: str | Path,
    tokenizer: Any,
    *,
    n_tokens: int,
    takes: TokenInputs,
    split: Split = "whole",
    n_samples: int | None = None,
    special_tokens: bool = True,
) -> Samples:
    """Samples of a text file.

    Parameters
    ----------
    path : str or Path
        UTF-8 text, plain or compressed (``.gz``, ``.xz``).
    tokenizer : transformers.PreTrainedTokenizerBase
    n_tokens : int
        Length of a sample, special tokens included.
    takes : TokenInputs
        What the model reads.
    split : {"whole", "lines"}, default "whole"
        "whole" cuts the text of the file into consecutive windows. "lines" makes one sample of every line,
        cut at `n_tokens` or padded at the end; blank lines are skipped.
    n_samples : int, optional
        How many samples to take, from the first on; all of them if None.
    special_tokens : bool, default True
        Whether each sample has the special tokens, such as ``[CLS]`` and ``[SEP]``, that the tokenizer
        puts around a text.

    Returns
    -------
    Samples

    Raises
    ------
    CaptureError
        If the file cannot be read, is no UTF-8, is empty or too short, if the tokenizer cannot pad, or
        if the model has no positions for `n_tokens`.
    SettingError
        If `split` is not offered or a number is less than one.

    See Also
    --------
    haarbor.capturing.inputs.dataset_samples : Samples of a data set.
    haarbor.capturing.inputs.image_samples : Samples of pictures.
    haarbor.capture : Record the attention of a model.
    """
    path = named_path(path, "a text file")
    if not path.is_file():
        found = "it is a folder" if path.is_dir() else "there is no such file"
        raise CaptureError(f"{path} must be a text file; {found}. Check the path.")
    return text_pieces_samples(
        _pieces(path, split),
        path.name,
        tokenizer,
        n_tokens=n_tokens,
        takes=takes,
        split=split,
        n_samples=n_samples,
        special_tokens=special_tokens,
    )


def text_pieces_samples(
    pieces: Iterable[str],
    source: str,
    tokenizer: Any,
    *,
    n_tokens: int,
    takes: TokenInputs,
    split: Split = "whole",
    n_samples: int | None = None,
    special_tokens: bool = True,
) -> Samples:
    """Samples of a text that comes in pieces, as `text_samples` gives them of the lines of a file.

    Parameters
    ----------
    pieces : iterable of str
        Joined for "whole", a document each for "lines"; no more are taken than `n_samples` needs.
    source : str
        Where they come from, for descriptions and messages.
    tokenizer, n_tokens, takes, split, n_samples, special_tokens
        See `text_samples`.

    Returns
    -------
    Samples
    """
    require_takes(takes, TokenInputs)
    if not isinstance(split, str) or split not in ("whole", "lines"):
        raise SettingError(f"split must be 'whole' or 'lines'; found {split!r:.60}. Pass one of them.")
    if n_samples is not None:
        checked_count(n_samples, "the number of batches")
    require_length(n_tokens, takes)
    if takes.decoder is not None:
        require_length(n_tokens, takes.decoder)
    frame = _Frame.of(tokenizer) if special_tokens else _Frame((), ())
    if n_tokens <= frame.size:
        raise CaptureError(
            f"{n_tokens} tokens were asked for; the tokenizer alone puts {frame.size} special tokens around "
            f"a text. Ask for at least {frame.size + 1}, or leave special tokens out."
        )
    pieces = _checked_pieces(pieces, source)
    if split == "whole":
        return TextWindows(pieces, source, tokenizer, n_tokens, takes, n_samples, frame)
    return Documents(pieces, source, tokenizer, n_tokens, takes, n_samples, frame)


def _checked_pieces(pieces: Iterable[str], source: str) -> Iterator[str]:
    for piece in pieces:
        if not isinstance(piece, str):
            raise CaptureError(
                f"{source} must be texts; found {type(piece).__name__}. Decode bytes first, and leave "
                "numbers out."
            )
        yield piece


class _Frame:
    """Special tokens that a tokenizer puts before and after a text."""

    def __init__(self, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        self.before, self.after = before, after
        self.size = len(before) + len(after)

    @classmethod
    def of(cls, tokenizer: Any) -> _Frame:
        if not _ids(tokenizer, "", special=True):
            return cls((), ())
        # A text of one known token shows which special tokens come before it and which after.
        for word in ("a", "1", "C", "the", *_some_words(tokenizer)):
            plain, framed = _ids(tokenizer, word), _ids(tokenizer, word, special=True)
            for begin in range(len(framed) - len(plain) + 1):
                if plain and framed[begin : begin + len(plain)] == plain:
                    return cls(tuple(framed[:begin]), tuple(framed[begin + len(plain) :]))
        raise CaptureError(
            "the tokenizer puts special tokens somewhere else than around a text; such samples cannot be "
            "made. Leave special tokens out."
        )

    def around(self, ids: IntArray) -> IntArray:
        return np.concatenate([np.array(self.before), ids, np.array(self.after)]).astype(np.int64)


class TextWindows(Samples):
    """Consecutive windows of one text; tokens that do not fill a last window are left out."""

    def __init__(
        self,
        pieces: Iterable[str],
        source: str,
        tokenizer: Any,
        n_tokens: int,
        takes: TokenInputs,
        n_samples: int | None,
        frame: _Frame,
    ) -> None:
        self._tokenizer, self._takes, self._frame = tokenizer, takes, frame
        self._width = n_tokens - frame.size
        needed = None if n_samples is None else n_samples * self._width
        self._ids = _stream(iter(pieces), tokenizer, needed)
        if self._ids.size == 0:
            raise CaptureError(f"{source} must hold text; it is empty.")
        n_windows = self._ids.size // self._width
        if n_windows == 0:
            raise CaptureError(
                f"{source} must fill a window of {n_tokens} tokens; it has "
                f"{self._ids.size + frame.size}. Ask for fewer tokens, or give more text."
            )
        things = f"{'window' if n_windows == 1 else 'windows'} of {n_tokens} tokens"
        self._length = chosen_count(n_samples, n_windows, things, source)
        special = ", special tokens around each" if frame.size else ""
        self._description = f"{source}, consecutive windows of {n_tokens} tokens{special}"

    @property
    def description(self) -> str:
        """Where the samples come from, in a line."""
        return self._description

    @property
    def content_digest(self) -> str:
        """SHA-256 of the tokens in the windows."""
        return digest_of_bytes([np.ascontiguousarray(self._ids[: self._length * self._width], dtype="<i8")])

    def __len__(self) -> int:
        return self._length

    def sample(self, index: int) -> Sample:
        """Window at an index."""
        ids = self._frame.around(self._ids[index * self._width : (index + 1) * self._width])
        return _text_sample(ids, ids.size, self._tokenizer, self._takes)


class Documents(Samples):
    """One document per sample, cut at the length of a sample or padded at the end."""

    def __init__(
        self,
        pieces: Iterable[str],
        source: str,
        tokenizer: Any,
        n_tokens: int,
        takes: TokenInputs,
        n_samples: int | None,
        frame: _Frame,
    ) -> None:
        self._tokenizer, self._takes, self._frame = tokenizer, takes, frame
        self._source, self._n_tokens = source, n_tokens
        self._pad_id, padding = _padding(tokenizer)
        self._texts: list[str] = []
        for piece in pieces:
            if piece.strip():
                self._texts.append(piece.strip())
            if len(self._texts) == n_samples:
                break
        if not self._texts:
            raise CaptureError(f"{source} must hold text; it is empty.")
        self._length = chosen_count(n_samples, len(self._texts), "documents", source)
        self._description = (
            f"{source}, one document a line, cut or padded to {n_tokens} tokens with {padding}"
        )

    @property
    def description(self) -> str:
        """Where the samples come from and what pads them, in a line."""
        return self._description

    @property
    def content_digest(self) -> str:
        """SHA-256 of the documents."""
        return digest_of_bytes(text.encode("utf-8", "surrogatepass") for text in self._texts[: self._length])

    def __len__(self) -> int:
        return self._length

    def sample(self, index: int) -> Sample:
        """Document at an index."""
        content = np.array(_ids(self._tokenizer, self._texts[index]), dtype=np.int64)
        if content.size == 0:
            raise CaptureError(
                f"document {index + 1} of {self._source} must have tokens; the tokenizer finds none. "
                "Remove the line."
            )
        ids = self._frame.around(content[: self._n_tokens - self._frame.size])
        padded = np.full(self._n_tokens, self._pad_id, dtype=np.int64)
        padded[: ids.size] = ids
        return _text_sample(padded, ids.size, self._tokenizer, self._takes)


def _text_sample(ids: IntArray, n_valid: int, tokenizer: Any, takes: TokenInputs) -> Sample:
    labels = token_texts(tokenizer, ids.tolist())
    start = "" if takes.decoder is None else token_texts(tokenizer, [takes.decoder.start_id])[0]
    return token_sample(ids, n_valid, labels, takes, start)


def _ids(tokenizer: Any, text: str, *, special: bool = False) -> list[int]:
    try:
        found = tokenizer(text, add_special_tokens=special, return_attention_mask=False, verbose=False)
        return list(found["input_ids"])
    # Half a surrogate pair is no character; a tokenizer without an unknown token fails on unknown words.
    except Exception as error:
        raise CaptureError(
            f"the tokenizer must take the text; it fails on it: {first_line(error):.200}. Use the tokenizer "
            "that belongs to the model, and text of whole characters."
        ) from error


def _some_words(tokenizer: Any) -> list[str]:
    special = set(tokenizer.all_special_tokens)
    return [word for word in sorted(tokenizer.get_vocab()) if word not in special and word.isalnum()][:4]


def _padding(tokenizer: Any) -> tuple[int, str]:
    if tokenizer.pad_token_id is not None:
        return int(tokenizer.pad_token_id), str(tokenizer.pad_token)
    if tokenizer.eos_token_id is not None:
        end = tokenizer.eos_token
        return int(tokenizer.eos_token_id), f"{end} (the end token: the tokenizer has none for padding)"
    raise CaptureError(
        "documents of different lengths need padding; the tokenizer has neither a pad token nor an end "
        "token. Set tokenizer.pad_token, or read the text as a whole."
    )


def _stream(pieces: Iterator[str], tokenizer: Any, needed: int | None) -> IntArray:
    """Tokens of the joined pieces: at least `needed` of them, if the text has that many."""
    text: list[str] = []
    n_characters = 0
    budget = None if needed is None else max(_FIRST_CHARACTERS, needed * _CHARACTERS_PER_TOKEN)
    while True:
        exhausted = True
        for piece in pieces:
            text.append(piece)
            n_characters += len(piece)
            if budget is not None and n_characters >= budget:
                exhausted = False
                break
        text = ["".join(text)]
        ids = np.array(_ids(tokenizer, text[0]) if text[0].strip() else [], dtype=np.int64)
        if exhausted or budget is None or needed is None or ids.size >= needed + _SPARE_TOKENS:
            return ids
        budget *= 2


def _pieces(path: Path, split: Split) -> Iterator[str]:
    """Lines of a file; for "whole", pieces of a fixed size, as one line may be as long as the file."""
    try:
        with _opened(path) as file:
            if split == "lines":
                yield from file
            else:
                while piece := file.read(_FIRST_CHARACTERS):
                    yield piece
    except UnicodeDecodeError as error:
        raise _no_text(path) from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise CaptureError(
            f"{path.name} could not be read: {reason.rstrip('.')}. Check the file and its permissions."
        ) from error


def _no_text(path: Path) -> CaptureError:
    """Error that names the first byte that is not UTF-8; Python's own error counts within a block only."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    place, line, begin = 0, 1, b""
    with _opened_bytes(path) as file:
        while block := file.read(1 << 16):
            begin = begin or block[:2]
            waiting = decoder.getstate()[0]
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                place += error.start - len(waiting)
                byte, reason = error.object[error.start], error.reason
                break
            place, line = place + len(block), line + block.count(b"\n")
        else:
            waiting = decoder.getstate()[0]
            byte, reason, place = waiting[0], "unexpected end of data", place - len(waiting)
    wide = begin in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return CaptureError(
        f"{path.name} must be UTF-8 text; byte {place} (line {line}) is 0x{byte:02x}, which is not "
        f"({reason}). Convert it, for example with iconv -f {'UTF-16' if wide else 'LATIN1'} -t UTF-8."
    )


def _opened_bytes(path: Path) -> Any:
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _opened(path: Path) -> TextIO:
    # With the signature, as a byte order mark is no text.
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8-sig")
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")
