"""Batches of any size in one form, with labels kept apart from the inputs of the model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from haarbor.array_types import AnyArray, IntArray
from haarbor.capturing import compiled_part, first_line, is_huggingface, model_forward, require_dense
from haarbor.capturing.inputs import Sample
from haarbor.errors import DataError, HaarborError, PruningError, SettingError
from haarbor.printable import printable

__all__ = [
    "ModelBatch",
    "forward",
    "model_batches",
    "require_disjoint",
    "require_network",
]

_RUN = 48
"""Length in tokens of the runs by which two texts are compared."""
_REPEATED = 0.25
"""Share of such runs that two texts may have in common, as with quotations and tables."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ModelBatch:
    """Arguments of a model's forward with a batch axis in front, and what it should answer."""

    inputs: Mapping[str, torch.Tensor]
    """By name; the name is empty for a tensor that is the first argument."""
    labels: torch.Tensor | None
    """As the metric wants them; None where it needs none."""
    counted: torch.Tensor | None = None
    """True where the answer counts, shape (batch, ...) like the answers; None for all but padding."""

    def __len__(self) -> int:
        """Samples in the batch."""
        return int(next(iter(self.inputs.values())).shape[0])

    @property
    def sample_shapes(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Shape of every input of one sample, by name."""
        return tuple((name, tuple(value.shape[1:])) for name, value in sorted(self.inputs.items()))

    @property
    def tokens(self) -> torch.Tensor | None:
        """Token ids, shape (batch, token); None if the model takes something else."""
        for name in ("decoder_input_ids", "input_ids", ""):
            value = self.inputs.get(name)
            if value is not None and value.dim() == 2 and not value.is_floating_point():
                return value
        return None

    @property
    def valid(self) -> torch.Tensor | None:
        """True where a token is not padding, shape (batch, token); None where there is no padding mask."""
        for name in ("decoder_attention_mask", "attention_mask"):
            value = self.inputs.get(name)
            if value is not None and value.dim() == 2:
                return value.bool()
        return None

    def rows(self) -> Iterator[ModelBatch]:
        """Samples of the batch, one by one."""
        for row in range(len(self)):
            yield ModelBatch(
                inputs={name: value[row : row + 1] for name, value in self.inputs.items()},
                labels=None if self.labels is None else self.labels[row : row + 1],
                counted=None if self.counted is None else self.counted[row : row + 1],
            )

    def arrays(self) -> Iterator[AnyArray]:
        """The main input of each sample: token ids without padding, or pixels and the like."""
        main = self.tokens
        if main is None:
            main = max(self.inputs.values(), key=lambda value: value.numel())
        valid = self.valid if main.dim() == 2 and self.valid is not None else None
        for row in range(main.shape[0]):
            array = main[row].detach().cpu().numpy()
            yield array if valid is None or valid.shape != main.shape else array[valid[row].cpu().numpy()]


def model_batches(batches: Any) -> tuple[ModelBatch, ...]:
    """Batches in one form.

    Parameters
    ----------
    batches : iterable
        Samples, dictionaries of model inputs (a "labels" entry is kept apart), or tensors for the
        first argument of the model; or a single one of these.

    Returns
    -------
    tuple of ModelBatch

    Raises
    ------
    DataError
        If there are none, or one has no batch axis.

    See Also
    --------
    haarbor.pruning.pruning_data : Data to calibrate and to measure with.

    Examples
    --------
    >>> batches = model_batches({"input_ids": torch.arange(6).view(2, 3), "labels": torch.tensor([0, 1])})
    >>> len(batches), len(batches[0]), batches[0].labels.tolist()
    (1, 2, [0, 1])
    """
    if isinstance(batches, torch.Tensor | np.ndarray | Mapping | Sample | ModelBatch):
        batches = [batches]
    if isinstance(batches, str | bytes) or not isinstance(batches, Iterable):
        raise DataError(
            "batches must be samples, dictionaries of inputs or tensors; found "
            f"{printable(repr(batches))[:80]}. Pass a list of them, or a single one."
        )
    found = tuple(_batch(batch) for batch in batches)
    if not found:
        raise DataError("there must be at least one batch; found none. Pass some data.")
    return found


def _batch(batch: Any) -> ModelBatch:
    if isinstance(batch, ModelBatch):
        return batch
    inputs: Mapping[str, Any]
    if isinstance(batch, Sample):
        inputs = batch.inputs
    elif isinstance(batch, Mapping):
        inputs = batch
    else:
        inputs = {"": batch}
    tensors = {str(name): _tensor(str(name), value) for name, value in inputs.items()}
    labels = tensors.pop("labels", None)
    sizes = {name: tuple(value.shape[:1]) for name, value in tensors.items()}
    if labels is not None:
        sizes["labels"] = tuple(labels.shape[:1])
    if not tensors or len(set(sizes.values())) != 1 or () in sizes.values():
        raise DataError(
            f"the tensors of a batch must have one batch axis in front; found {sizes}."
            " Give all of them the same first axis, one row per sample."
        )
    return ModelBatch(inputs=tensors, labels=labels)


def _tensor(name: str, value: Any) -> torch.Tensor:
    what = f"the input {name!r}" if name else "a batch"
    require_dense(what, value, DataError)
    try:
        return torch.as_tensor(value)
    # Whatever is no array of numbers fails in a way of its own.
    except Exception as error:
        raise DataError(
            f"{what} must be numbers in the shape of an array; found {printable(repr(value))[:80]}. Pass a "
            "tensor."
        ) from error


def require_network(model: Any) -> None:
    """Raise unless `model` is a network of torch, as it was written."""
    if not isinstance(model, torch.nn.Module):
        raise SettingError(
            f"the model must be a torch.nn.Module; found {printable(repr(model))[:80]}. Load it first, as "
            "with haarbor.capturing.load_model(name).model."
        )
    part = compiled_part(model)
    if part is not None:
        raise SettingError(
            "heads are removed from a model without torch.compile, because compiled code does not see that "
            f"they are gone; {part or 'the model'} is compiled. Pass the model as it was before: the "
            "_orig_mod of what torch.compile gave, or one that is loaded anew."
        )


def forward(model: torch.nn.Module, batch: ModelBatch) -> Any:
    """What the model answers to a batch, on the device and in the precision of its weights.

    Raises
    ------
    DataError
        If the model does not run on the batch, as where token ids are beyond its vocabulary.
    PruningError
        If there is not enough memory.
    """
    _require_known_tokens(model, batch)
    try:
        return model_forward(model, batch.inputs)
    except HaarborError:
        raise
    except torch.cuda.OutOfMemoryError as error:
        raise PruningError(
            f"there must be memory for a batch of {len(batch)} on {next(model.parameters()).device}; it ran "
            "out. Make the batches smaller, or run on the processor."
        ) from error
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        shapes = {name or "input": tuple(value.shape) for name, value in batch.inputs.items()}
        raise DataError(
            f"{type(model).__name__} must run on the batches; it stopped with {type(error).__name__}: "
            f"{printable(first_line(error))[:200]}. Check the inputs, which are {shapes}."
        ) from error


def _require_known_tokens(model: torch.nn.Module, batch: ModelBatch) -> None:
    """Raise if a token is not in the vocabulary: on a GPU that would end in an error far from here."""
    if not is_huggingface(model) or batch.tokens is None or not batch.tokens.numel():
        return
    find: Any = getattr(model, "get_input_embeddings", None)
    try:
        n_tokens = getattr(find(), "num_embeddings", None)
    except (AttributeError, NotImplementedError, TypeError):
        return
    if not isinstance(n_tokens, int):
        return
    least, most = int(batch.tokens.min()), int(batch.tokens.max())
    if least < 0 or most >= n_tokens:
        raise DataError(
            f"token ids must be from 0 to {n_tokens - 1}, the vocabulary of {type(model).__name__}; found "
            f"{least if least < 0 else most}. Take the tokenizer of this model."
        )


def require_disjoint(calibration: Iterable[ModelBatch], evaluation: Iterable[ModelBatch]) -> None:
    """Raise if evaluation data were already used for calibration.

    Samples are compared by digests: no sample may be in both, and no text may have more than a
    quarter of its runs of 48 tokens in common with the other, wherever they stand (runs of hardly
    any different tokens, such as padding, do not count; texts quote each other now and then).

    Parameters
    ----------
    calibration, evaluation : iterable of ModelBatch

    Raises
    ------
    DataError
        If they overlap.

    Examples
    --------
    >>> one, two = torch.arange(64)[None], torch.arange(30, 94)[None]
    >>> require_disjoint(model_batches(one), model_batches(two))
    >>> require_disjoint(model_batches(one), model_batches(one))
    Traceback (most recent call last):
    ...
    haarbor.errors.DataError: calibration and evaluation data must not overlap; sample 0 of the evaluation \
is among the calibration samples. Take other samples for one of them.
    """
    known_samples: set[bytes] = set()
    known_runs: set[bytes] = set()
    for batch in calibration:
        for array in batch.arrays():
            known_samples.add(_digest(array))
            known_runs.update(_runs(array))
    number = 0
    for batch in evaluation:
        for array in batch.arrays():
            runs = list(_runs(array))
            share = sum(run in known_runs for run in runs) / max(len(runs), 1)
            if _digest(array) in known_samples:
                raise _overlap(number, "is among the calibration samples")
            if share > _REPEATED:
                raise _overlap(number, f"has {100 * share:.0f} % of its text in common with them")
            number += 1


def _overlap(number: int, what: str) -> DataError:
    return DataError(
        f"calibration and evaluation data must not overlap; sample {number} of the evaluation {what}. Take "
        "other samples for one of them."
    )


def _digest(array: AnyArray) -> bytes:
    return hashlib.sha256(f"{array.shape}{array.dtype}".encode() + array.tobytes()).digest()


def _runs(array: AnyArray) -> Iterator[bytes]:
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer) or array.size < _RUN:
        return
    runs: IntArray = np.lib.stride_tricks.sliding_window_view(array, _RUN)
    for run in runs:
        if np.unique(run).size > _RUN // 4:
            yield hashlib.blake2b(run.tobytes(), digest_size=16).digest()
