"""What a batch holds for the forward of a model: its inputs by name, without the labels beside them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from haarbor.capturing._dense_tensors import require_dense
from haarbor.capturing._huggingface import is_huggingface
from haarbor.capturing.inputs import Sample
from haarbor.errors import CaptureError

__all__ = ["ForwardInputs", "has_rows"]

_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_LABELS = ("label", "labels", "target", "targets")
_IDS = ("input_ids", "decoder_input_ids")
_ADVICE = "Give a dictionary of model inputs, such as {'input_ids': ids, 'attention_mask': mask}."


class ForwardInputs:
    """Sorts the contents of a batch into the arguments of a model's forward.

    Parameters
    ----------
    model : torch.nn.Module
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._is_huggingface = is_huggingface(model)
        parameters = _parameters(model)
        self._required = [
            entry.name for entry in parameters if entry.kind in _PLAIN and entry.default is entry.empty
        ]
        # A wrapper passes on what it does not name itself: the model inside says what it is. Adapters of
        # PEFT, with (*args, **kwargs) alone, count as models of transformers.
        inner, last = model, parameters
        while _passes_on(last) and not (is_huggingface(inner) and _names(last)):
            within = _only_model_inside(inner)
            if within is None:
                break
            inner, last = within, _parameters(within)
            parameters = parameters + last
        self._names = _names(parameters)
        self._takes_others = not last or _passes_on(last)

    def arguments(self, batch: Any) -> dict[str, Any]:
        """Inputs by the name of their argument; "" for the first one.

        Tensors, and whatever becomes one, have the batch axis in front. Single numbers, texts, None and
        objects such as a key-value cache are the same for every row.

        Of a pair or a longer tuple, as many entries are taken as the forward needs. What follows them is
        left out if it can only be labels, which loaders put there.

        Parameters
        ----------
        batch : tensor, array, mapping, tuple or list

        Returns
        -------
        dict of str to object
            At least one of them is a tensor with a batch axis.

        Raises
        ------
        CaptureError
            If it is something else, or could be read in two ways.
        """
        inputs = self._inputs(batch)
        found = {
            name: value if name and _is_for_all_rows(value) else _tensor(name, value)
            for name, value in inputs.items()
        }
        if "" in found and found[""].dim() == 0:
            raise CaptureError(
                "every input of a batch must have a batch axis in front; a tensor is a single number. Add "
                "the axis with tensor[None]."
            )
        self.require_batch_axis(found)
        sizes = {name: int(value.shape[0]) for name, value in found.items() if has_rows(value)}
        if not sizes:
            raise CaptureError(
                f"the tensors of a batch must have one batch size; found no tensors. {_ADVICE}"
            )
        if len(set(sizes.values())) != 1:
            raise CaptureError(
                f"the tensors of a batch must have one batch size; found {sizes}. Give each of them one row "
                "per sample; or, if together they are one sample, wrap them: haarbor.capturing.Sample("
                "inputs={...}, labels=(), valid=None)."
            )
        return found

    def require_batch_axis(self, inputs: Mapping[str, Any]) -> None:
        """Refuse ids that are one sequence without a batch axis: each id would become a sample.

        Parameters
        ----------
        inputs : mapping of str to object

        Raises
        ------
        CaptureError
            If there are any.
        """
        names = (*_IDS, "") if self._is_huggingface else _IDS
        for name in names:
            value = inputs.get(name)
            if isinstance(value, torch.Tensor | np.ndarray) and value.ndim == 1 and not _is_float(value):
                raise CaptureError(
                    f"token ids must have a batch axis in front, (batch, token); {name or 'a batch'} has "
                    f"shape {tuple(value.shape)}. Write ids[None] for ids."
                )

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
            if name in self._names
            or (
                (name not in _LABELS or not self._names)
                # Nothing, for an argument that the forward does not have, is nothing.
                and (value is not None or self._takes_others)
            )
        }


def has_rows(value: Any) -> bool:
    """Whether an input has a batch axis: a tensor that is more than a single number."""
    return isinstance(value, torch.Tensor) and value.dim() > 0


def _parameters(model: torch.nn.Module) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(model.forward).parameters.values())
    # Compiled modules do not always have a signature.
    except (TypeError, ValueError):
        return []


def _names(parameters: list[inspect.Parameter]) -> set[str]:
    return {entry.name for entry in parameters if entry.kind in (*_PLAIN, entry.KEYWORD_ONLY)}


def _passes_on(parameters: list[inspect.Parameter]) -> bool:
    return any(entry.kind is entry.VAR_KEYWORD for entry in parameters)


def _only_model_inside(wrapper: torch.nn.Module) -> torch.nn.Module | None:
    """The one module in a wrapper, or the one of transformers among several; None where that is unclear."""
    children = list(wrapper.children())
    if len(children) > 1:
        children = [child for child in children if is_huggingface(child)]
    return children[0] if len(children) == 1 else None


def _is_for_all_rows(value: Any) -> bool:
    """Whether an input has no rows: a number, a text, nothing, or an object that is no data."""
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return True
    if isinstance(value, torch.Tensor | np.ndarray | Iterable) and not hasattr(value, "get_seq_length"):
        return False
    return not hasattr(value, "__array__") and not hasattr(value, "__array_interface__")


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
