"""Calibration and evaluation data for a loaded model, and the metric that fits it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from haarbor.array_types import IntArray
from haarbor.capturing import LoadedModel
from haarbor.capturing.inputs import Sample, archived_array, named_samples
from haarbor.errors import CaptureError, DataError, PruningError, SettingError
from haarbor.options import require_whole_number
from haarbor.pruning._metrics import METRICS, Metric, logits_of, masked_token_loss
from haarbor.pruning._model_batches import ModelBatch, forward, model_batches
from haarbor.zoo import sample_images_path

__all__ = ["PruningData", "pruning_data"]

_METRICS = ("auto", "masked-loss", *METRICS)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PruningData:
    """Batches of one sample each, and what is measured on them."""

    calibration: tuple[ModelBatch, ...]
    evaluation: tuple[ModelBatch, ...]
    metric: Metric
    description: str
    notes: tuple[str, ...]
    """What the user should know, one line each."""
    more: Callable[[], tuple[ModelBatch, ...]]
    """Further samples to calibrate on: those after the ones above, up to three times as many; none where the
    data hold no more."""

    @property
    def alike(self) -> bool:
        """Whether all calibration samples have one shape, as a refit of one layer after another needs."""
        return len({batch.sample_shapes for batch in self.calibration}) == 1


def pruning_data(
    loaded: LoadedModel,
    data: str,
    *,
    eval_data: str | None = None,
    n_calibration: int = 16,
    least_calibration: int | None = None,
    n_evaluation: int = 16,
    n_tokens: int = 256,
    split: Literal["whole", "lines"] = "whole",
    metric: str = "auto",
) -> PruningData:
    """Samples of the data that a user named: the first ones to calibrate with, the next ones to measure on.

    Parameters
    ----------
    loaded : LoadedModel
    data : str
        As for ``haarbor capture``.
    eval_data : str, optional
        Other data to measure on, from its beginning.
    n_calibration, n_evaluation : int
    least_calibration : int, optional
        Samples to calibrate with that are enough where the data hold no more; `n_calibration` if not given.
    n_tokens : int, default 256
    split : {"whole", "lines"}, default "whole"
    metric : {"auto", "loss", "masked-loss", "classification-loss", "accuracy"}, default "auto"
        "auto" takes the loss on hidden tokens for masked language models, the classification loss for
        models of images, and the loss of the next token for others.

    Returns
    -------
    PruningData

    Raises
    ------
    CaptureError
        If there is no such data, or not enough of it.
    PruningError
        If the model has no task that could be measured.
    DataError
        If labels do not fit the images.
    SettingError
        If a number or a metric is not offered.

    See Also
    --------
    haarbor.pruning.pruning_study : Scores, damage and a recommendation.
    haarbor.pruning.model_batches : Batches in one form.

    Notes
    -----
    Classes come from the ``labels`` of an ``.npz`` file. Where there are none, the whole network's own
    answers stand for them, and the notes say so.
    """
    if loaded.takes is None:
        raise PruningError(
            f"{loaded.name} takes inputs that the command line does not make; prune it from Python."
        )
    options: dict[str, Any] = {
        "takes": loaded.takes, "tokenizer": loaded.tokenizer, "n_tokens": n_tokens, "split": split,
    }  # fmt: skip
    for option, number in (("n_calibration", n_calibration), ("n_evaluation", n_evaluation)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise SettingError(
                f"{option} must be a whole number above 0; found {number!r}. Pass one such as 16."
            )
    if metric not in _METRICS:
        raise SettingError(f"metric must be one of {', '.join(_METRICS)}; found {metric!r}. Choose one.")
    if least_calibration is not None:
        require_whole_number("least_calibration", least_calibration, least=1)
    behind = 0 if eval_data else n_evaluation
    n_calibration = _held(data, n_calibration, least_calibration or n_calibration, behind, options)
    together = n_calibration + behind
    samples = named_samples(data, n_samples=together, **options)
    fitted: Sequence[Sample] = samples[:n_calibration]
    measured: Sequence[Sample] = samples[n_calibration:]
    labels = _labels(data, loaded)
    known: tuple[IntArray | None, IntArray | None] = (None, None)
    if labels is not None:
        known = (labels[:n_calibration], labels[n_calibration:])
    description = samples.description
    if eval_data is not None:
        other = named_samples(eval_data, n_samples=n_evaluation, **options)
        measured, known = other, (known[0], _labels(eval_data, loaded))
        description = f"{description}; measured on {other.description}"
    kind = _kind(loaded, metric)
    notes: list[str] = []
    chosen = _metric(loaded, kind)
    needs_labels = kind in ("classification-loss", "accuracy")
    batches = [
        _batches(loaded.model, part, own, needs_labels)
        for part, own in ((fitted, known[0]), (measured, known[1]))
    ]
    if needs_labels and any(own is None for own in known):
        notes.append("the data has no classes: the whole network's own answers stand for them.")

    def more() -> tuple[ModelBatch, ...]:
        begin = together
        for times in (3, 1):
            try:
                longer = named_samples(data, n_samples=begin + times * n_calibration, **options)
            except CaptureError:
                continue
            own = None if labels is None else labels[begin:]
            return _batches(loaded.model, longer[begin:], own, needs_labels)
        return ()

    return PruningData(
        calibration=batches[0],
        evaluation=batches[1],
        metric=chosen,
        description=f"{description}; {n_calibration} samples to calibrate, {n_evaluation} to measure",
        notes=tuple(notes),
        more=more,
    )


def _held(data: str, wanted: int, least: int, behind: int, options: dict[str, Any]) -> int:
    """Number of samples to calibrate with: half of those wanted, and half again, until the data hold them."""
    while wanted > least:
        try:
            named_samples(data, n_samples=wanted + behind, **options)
        except CaptureError:
            wanted = max(wanted // 2, least)
        else:
            return wanted
    return wanted


def _kind(loaded: LoadedModel, metric: str) -> str:
    if metric != "auto":
        return metric
    if loaded.images is not None:
        return "classification-loss"
    return "masked-loss" if "MaskedLM" in type(loaded.model).__name__ else "loss"


def _metric(loaded: LoadedModel, kind: str) -> Metric:
    if kind != "masked-loss":
        return METRICS[kind]
    hiding = getattr(loaded.tokenizer, "mask_token_id", None)
    if hiding is None:
        raise PruningError(
            f"the loss on hidden tokens needs a mask token; the tokenizer of {loaded.name} has none."
            " Choose another metric."
        )
    return masked_token_loss(int(hiding), kept=loaded.tokenizer.all_special_ids)


def _labels(data: str, loaded: LoadedModel) -> IntArray | None:
    path = sample_images_path() if data == "zoo" else Path(data).expanduser()
    if loaded.images is None or path.suffix != ".npz" or not path.is_file():
        return None
    try:
        found = archived_array(path, "labels")
    except CaptureError as error:
        raise DataError(str(error)) from error
    if found is None:
        return None
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer):
        raise DataError(
            f"the labels in {path.name} must be whole numbers, one per image; found {found.dtype} of shape "
            f"{found.shape}. Write the number of each image's class."
        )
    labels: IntArray = found.astype(np.int64)
    return labels


def _batches(
    model: torch.nn.Module, samples: Sequence[Sample], labels: IntArray | None, needs_labels: bool
) -> tuple[ModelBatch, ...]:
    found = []
    for number, batch in enumerate(model_batches(samples)):
        answer = None
        if needs_labels and labels is not None:
            if number >= labels.size:
                raise DataError(
                    f"there must be a label for every image; found {labels.size} for {len(samples)}. Write "
                    "one for each, or leave the labels out."
                )
            answer = torch.as_tensor(labels[number : number + 1].copy())
        elif needs_labels:
            with torch.no_grad():
                answer = logits_of(forward(model, batch)).argmax(dim=-1).cpu()
        found.append(ModelBatch(inputs=batch.inputs, labels=answer))
    return tuple(found)
