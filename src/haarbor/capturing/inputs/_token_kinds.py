"""What kind each token of a sample is: text, part of an image, or special."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from haarbor.capturing._huggingface import is_huggingface
from haarbor.capturing.inputs._image_grid import image_grid
from haarbor.capturing.inputs._samples import Sample
from haarbor.errors import CaptureError

__all__ = ["TokenKinds"]

_OTHER_MEDIUM = re.compile("(image|video|audio)_token_(id|index)")


class TokenKinds:
    """Finds the kinds of tokens from their ids and the configuration of a model.

    Parameters
    ----------
    model : torch.nn.Module
        Of a model that is not of Hugging Face, no ids are known; its samples may name their kinds.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._config = next(
            (module.config for module in model.modules() if is_huggingface(module) and _has_config(module)),
            None,
        )
        self._named = {} if self._config is None else _named_ids(self._config)

    def described(self, sample: Sample) -> Sample:
        """The sample with kinds, if it has any, and with labels for its tokens.

        Without kinds of its own, a sample gets them if it has tokens of images, films or sound among its
        text. Image tokens that all have one label, or none, are labelled by their place in the picture,
        "row,column", where they form a grid; other tokens without labels by their ids.

        Parameters
        ----------
        sample : Sample

        Returns
        -------
        Sample

        Raises
        ------
        CaptureError
            If the sample has kinds of its own that are not one text for each token.
        """
        ids = _row(sample.inputs.get("input_ids"))
        n_tokens = len(sample.labels) if ids is None else len(ids)
        _require_texts("kinds", sample.kinds, n_tokens)
        _require_texts("decoder_kinds", sample.decoder_kinds, _n_decoder_tokens(sample))
        kinds = tuple(sample.kinds) or self.of_ids(ids or [])
        if not sample.kinds and not set(kinds) - {"text", "special"}:
            return sample
        labels = sample.labels or tuple(map(str, ids or []))
        if len(labels) == len(kinds):
            labels = self._placed(labels, kinds, sample)
        return dataclasses.replace(sample, kinds=kinds, labels=labels)

    def of_ids(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Kind of each token: "text" where the configuration has no name for its id."""
        return tuple(self._named.get(token, "text") for token in ids)

    def _placed(self, labels: tuple[str, ...], kinds: tuple[str, ...], sample: Sample) -> tuple[str, ...]:
        """Labels with the places of image tokens in place of what stands for an image in the text."""
        places = [place for place, kind in enumerate(kinds) if kind == "image"]
        if not places or "input_ids" not in sample.inputs or len({labels[place] for place in places}) != 1:
            return labels
        begin, end = places[0], places[-1] + 1
        grid = None if end - begin != len(places) else image_grid(len(places), sample.inputs, self._config)
        if grid is None:
            return labels
        cells = (f"{row},{column}" for row in range(grid[0]) for column in range(grid[1]))
        return (*labels[:begin], *cells, *labels[end:])


def _has_config(module: torch.nn.Module) -> bool:
    return hasattr(getattr(module, "config", None), "to_dict")


def _named_ids(config: Any) -> dict[int, str]:
    """Kind of every token id that a configuration has a name for."""
    text = config
    if hasattr(config, "get_text_config"):
        # Where a model has several texts, as one that turns text into music has, none is the text.
        with contextlib.suppress(ValueError):
            text = config.get_text_config()
    media: dict[int, str] = {}
    special: dict[int, str] = {}
    for part in (config, text):
        for name, value in part.to_dict().items():
            if not name.endswith(("_token_id", "_token_index")):
                continue
            medium = _OTHER_MEDIUM.fullmatch(name)
            for token in value if isinstance(value, list) else [value]:
                if isinstance(token, int) and token >= 0:
                    (special if medium is None else media)[token] = "special" if medium is None else medium[1]
    return {**special, **media}


def _row(ids: Any) -> list[int] | None:
    """Ids of a batch of one; None where it is something else."""
    if not isinstance(ids, torch.Tensor | np.ndarray) or ids.ndim != 2 or ids.shape[0] != 1:
        return None
    return [int(token) for token in ids[0].tolist()]


def _n_decoder_tokens(sample: Sample) -> int:
    ids = _row(sample.inputs.get("decoder_input_ids"))
    return len(sample.decoder_labels) if ids is None else len(ids)


def _require_texts(what: str, kinds: Any, n_tokens: int) -> None:
    if isinstance(kinds, tuple | list) and not kinds:
        return
    if (
        isinstance(kinds, str)
        or not isinstance(kinds, tuple | list)
        or len(kinds) != n_tokens
        or not all(isinstance(kind, str) and kind for kind in kinds)
    ):
        found = f"{len(kinds)} of them" if isinstance(kinds, tuple | list) else f"{kinds!r:.40}"
        raise CaptureError(
            f"{what} of a sample must be one word for each of its {n_tokens} tokens; found {found}. Give a "
            "tuple of texts, or leave it out."
        )
