"""Data sets of the Hugging Face hub, read through the datasets package where it is installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from haarbor.capturing._first_line import first_line
from haarbor.capturing.inputs._image_settings import ImageSettings
from haarbor.capturing.inputs._images import picture_samples
from haarbor.capturing.inputs._samples import Samples, checked_count, chosen_count, require_takes
from haarbor.capturing.inputs._text import Split, text_pieces_samples
from haarbor.capturing.inputs._token_inputs import TokenInputs
from haarbor.errors import CaptureError, HaarborError

__all__ = ["dataset_samples"]

_TEXT_COLUMNS = ("text", "content", "sentence", "document")
_IMAGE_COLUMNS = ("image", "img", "pixels")


def dataset_samples(
    name: str,
    *,
    takes: TokenInputs | ImageSettings,
    n_samples: int,
    n_tokens: int | None = None,
    tokenizer: Any = None,
    configuration: str | None = None,
    part: str = "train",
    column: str | None = None,
    split: Split = "whole",
) -> Samples:
    """Samples of a data set of the Hugging Face hub.

    Rows are streamed from the beginning, no more of them than needed, and no code of the data set is
    run.

    Parameters
    ----------
    name : str
        As the hub has it, such as ``"Salesforce/wikitext"``.
    takes : TokenInputs or ImageSettings
        What the model takes: it decides whether texts or images are looked for.
    n_samples : int
    n_tokens : int, optional
        Length of a sample of text.
    tokenizer : transformers.PreTrainedTokenizerBase, optional
        For text.
    configuration : str, optional
        Which of the data sets under this name.
    part : str, default "train"
        Which part of it: "train", "validation", "test".
    column : str, optional
        Where the texts or images are; if None, a column with a usual name.
    split : {"whole", "lines"}, default "whole"
        Whether texts are joined and cut into windows, or a sample each.

    Returns
    -------
    Samples

    Raises
    ------
    CaptureError
        If the datasets package is missing, the hub cannot be reached, there is no such data set or
        column, or it has too few rows.

    See Also
    --------
    haarbor.capturing.inputs.text_samples : Samples of a text.
    haarbor.capture : Record the attention of a model.
    """
    require_takes(takes, TokenInputs, ImageSettings)
    checked_count(n_samples, "the number of batches")
    if not isinstance(name, str) or not name:
        raise CaptureError(
            f"a data set must be named as the hub has it, such as 'Salesforce/wikitext'; found {name!r:.60}."
            " Check the name."
        )
    usual = _IMAGE_COLUMNS if isinstance(takes, ImageSettings) else _TEXT_COLUMNS
    rows = _rows(name, configuration, part)
    values = _column(name, rows, column, usual)
    source = ", ".join(word for word in (name, configuration, part) if word)
    if isinstance(takes, ImageSettings):
        pictures = list(islice(values, n_samples))
        chosen_count(n_samples, len(pictures), "images", source)
        return picture_samples(pictures, source, settings=takes)
    if tokenizer is None or n_tokens is None:
        raise CaptureError("text needs a tokenizer and a number of tokens. Pass both.")
    return text_pieces_samples(
        _texts(values, split),
        source,
        tokenizer,
        n_tokens=n_tokens,
        takes=takes,
        split=split,
        n_samples=n_samples,
    )


def _rows(name: str, configuration: str | None, part: str) -> Iterator[dict[str, Any]]:
    try:
        datasets: Any = importlib.import_module("datasets")
    except ImportError as error:
        raise CaptureError(
            f"the data set {name:.80} needs the datasets package, which is not installed: pip install "
            "datasets."
        ) from error
    try:
        rows: Iterable[dict[str, Any]] = datasets.load_dataset(
            name, configuration, split=part, streaming=True
        )
        yield from rows
    except HaarborError:
        raise
    # The package raises whatever its network and file readers raise.
    except Exception as error:
        raise CaptureError(
            f"the data set {name:.80} could not be read: {first_line(error):.200}. Check its name and the "
            "connection, or save it and pass the file."
        ) from error


def _column(
    name: str, rows: Iterator[dict[str, Any]], column: str | None, usual: tuple[str, ...]
) -> Iterator[Any]:
    first = next(rows, None)
    if first is None:
        raise CaptureError(f"the data set {name} must hold rows; it is empty. Choose another part of it.")
    wanted = (column,) if column is not None else usual
    found = next((key for key in wanted if key in first), None)
    if found is None:
        raise CaptureError(
            f"the data set {name} must have a column {' or '.join(wanted)}; it has {', '.join(first)}. "
            "Name the column to take."
        )
    return (row[found] for row in _again(first, rows))


def _again(first: dict[str, Any], rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rows


def _texts(values: Iterator[Any], split: Split) -> Iterator[str]:
    for value in values:
        if not isinstance(value, str):
            raise CaptureError(f"the column must hold texts; found {type(value).__name__}. Name another.")
        yield value if split == "lines" or value.endswith("\n") else value + "\n"
