"""What a batch holds for the forward of a model: its inputs by name, without the labels beside them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from haarbor.capturing._dense_tensors import require_dense
from haarbor.capturing.inputs import Sample
from haarbor.errors import CaptureError

__all__ = ["ForwardInputs"]

_LABELS = ("label", "labels", "target", "targets")
_ADVICE = "Give a dictionary of model inputs, such as {'input_ids': ids, 'attention_mask': mask}."


class ForwardInputs:
    """Sorts the contents of a batch into the arguments of a model's forward.

    Parameters
    ----------
    model : torch.nn.Module
    """

    def __init__(self, model: torch.nn.Module) -> None:
        try:
            parameters = list(inspect.signature(model.forward).parameters.values())
        # Compiled modules do not always have a signature.
        except (TypeError, ValueError):
            parameters = []
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._names = {entry.name for entry in parameters if entry.kind in (*plain, entry.KEYWORD_ONLY)}
        self._required = [
            entry.name for entry in parameters if entry.kind in plain and entry.default is entry.empty
        ]

    def tensors(self, batch: Any) -> dict[str, torch.Tensor]:
        """Inputs by the name of their argument, each with the batch axis in front; "" for the first one.

        Of a pair or a longer tuple, as many entries are taken as the forward needs. What follows them is
        left out if it can only be labels, which loaders put there.

        Parameters
        ----------
        batch : tensor, array, mapping, tuple or list

        Returns
        -------
        dict of str to tensor

        Raises
        ------
        CaptureError
            If it is something else, or could be read in two ways.
        """
        inputs = self._inputs(batch)
        found = {name: _tensor(name, value) for name, value in inputs.items()}
        without = [name for name, value in found.items() if value.dim() == 0]
        if without:
            raise CaptureError(
                f"every input of a batch must have a batch axis in front; {without[0] or 'a tensor'} is a "
                "single number. Leave it out, or add the axis with tensor[None]."
            )
        sizes = {name: int(value.shape[0]) for name, value in found.items()}
        if len(set(sizes.values())) != 1:
            raise CaptureError(
                f"the tensors of a batch must have one batch size; found {sizes or 'no tensors'}. {_ADVICE}"
            )
        return found

    def _inputs(self, batch: Any) -> dict[str, Any]:
        if isinstance(batch, Mapping):
            return self._named(batch)
        if isinstance(batch, torch.Tensor | np.ndarray):
            return {"": batch}
        if not isinstance(batch, tuple | list) or not batch:
            raise _not_understood(batch)
        fields = getattr(batch, "_fields", ())
        if any(field in self._names for field in fields):
            return self._named(dict(zip(fields, batch, strict=True)))
        first, *rest = batch
        if len(self._required) > 1 and not isinstance(first, Mapping):
            needed = len(self._required)
            if len(batch) < needed:
                raise CaptureError(
                    f"the model takes {', '.join(self._required)}; a batch has {len(batch)} of {needed}. "
                    f"{_ADVICE}"
                )
            return dict(zip(self._required, batch, strict=False))
        if isinstance(first, Mapping) or hasattr(first, "_fields"):
            return self._inputs(first)
        if not isinstance(first, torch.Tensor | np.ndarray):
            raise _not_understood(batch)
        for other in rest:
            _require_labels(first, other, alone=len(rest) == 1)
        return {"": first}

    def _named(self, batch: Mapping[Any, Any]) -> dict[str, Any]:
        wrong = next((name for name in batch if not isinstance(name, str)), None)
        if wrong is not None:
            raise CaptureError(
                f"inputs of a model are named by text; a batch has the name {wrong!r:.40}. {_ADVICE}"
            )
        # A forward that names no arguments (only **kwargs) passes everything on.
        return {
            name: value
            for name, value in batch.items()
            if value is not None and (name not in _LABELS or not self._names or name in self._names)
        }


def _require_labels(inputs: Any, other: Any, *, alone: bool) -> None:
    """Refuse what stands beside the inputs and could be more than labels of them."""
    shape = tuple(inputs.shape)
    if isinstance(other, str | bytes | int | float) or (hasattr(other, "shape") and len(other.shape) == 0):
        raise CaptureError(
            f"a batch must have a batch axis; found inputs of shape {shape} with the single label "
            f"{other!r:.40}, one item of a data set. Wrap it in a torch.utils.data.DataLoader."
        )
    if not isinstance(other, torch.Tensor | np.ndarray):
        return
    if shape[:1] == tuple(other.shape[:1]) and shape != tuple(other.shape) and len(shape) > 1:
        return
    # Next tokens have the shape of the tokens, as a mask has; a mask is all zeros and ones.
    tokens = not _is_float(inputs) and not _is_float(other) and len(shape) > 1
    if alone and tokens and shape == tuple(other.shape) and bool(((other != 0) & (other != 1)).any()):
        return
    raise CaptureError(
        f"a batch must be (inputs, labels) where it is no dictionary; found tensors of shape {shape} and "
        f"{tuple(other.shape)}, of which the second may be an input, too. {_ADVICE}"
    )


def _is_float(value: Any) -> bool:
    return value.is_floating_point() if isinstance(value, torch.Tensor) else value.dtype.kind == "f"


def _tensor(name: str, value: Any) -> torch.Tensor:
    what = f"input {name!r} of a batch" if name else "a batch"
    require_dense(what, value, CaptureError)
    try:
        # An array that runs backwards has to be copied before torch takes it.
        found = torch.as_tensor(np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else "no numbers"
        raise CaptureError(
            f"{what} must be a tensor or numbers in rows of one length; found {_described(value)} "
            f"({reason}). {'Leave it out, or convert it.' if name else _ADVICE}"
        ) from error
    return found.detach()


def _not_understood(batch: Any) -> CaptureError:
    return CaptureError(
        "a batch must be a tensor, a dictionary of model inputs, or a pair (inputs, labels); found "
        f"{_described(batch)}. {_ADVICE}"
    )


def _described(value: Any) -> str:
    if isinstance(value, Sample):
        return "a Sample"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        inner = type(value[0]).__name__ if len(value) else "nothing"
        return f"a {type(value).__name__} of {inner}"
    return f"{value!r:.60}" if isinstance(value, str | bytes | int | float | None) else type(value).__name__
