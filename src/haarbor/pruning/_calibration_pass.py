"""Everything that scores are computed from, gathered in one pass over the calibration data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray, frozen
from haarbor.capturing import AttentionCall, recorded_calls
from haarbor.errors import PruningError, SettingError
from haarbor.on_progress import OnProgress
from haarbor.options import require_whole_number
from haarbor.printable import printable
from haarbor.pruning._attention_statistics import AttentionStatistics, AttentionSums
from haarbor.pruning._gate_gradients import gate_gradients
from haarbor.pruning._head_responses import N_ANSWERS as HEAD_ANSWERS
from haarbor.pruning._head_responses import HeadResponses, head_changes
from haarbor.pruning._joined_batches import joined_batches
from haarbor.pruning._layer_moments import LayerMoments, MomentHooks
from haarbor.pruning._layer_responses import N_ANSWERS as LAYER_ANSWERS
from haarbor.pruning._layer_responses import LayerResponses, layer_changes
from haarbor.pruning._leftover_gradients import LeftoverGradients, leftover_gradients_of
from haarbor.pruning._metrics import METRICS, Measure, Metric, metric_named
from haarbor.pruning._model_batches import ModelBatch, forward, model_batches, require_network
from haarbor.pruning._network_heads import NetworkHeads, network_heads
from haarbor.pruning._network_probe import Change
from haarbor.pruning._probed_changes import probed_changes
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["PROBED", "CalibrationPass", "Part", "calibration_pass", "require_parts", "with_responses"]

Part = Literal[
    "attention", "gradients", "responses", "layer responses", "leftover gradients", "drawn gradients"
]
"""What a pass may gather beyond the moments of the heads' outputs."""

PROBED: frozenset[Part] = frozenset(("responses", "layer responses"))
"""Parts that take far longer than the others; a pass that lacks them can get them later."""

LEFTOVER_GRADIENTS: tuple[Part, ...] = ("leftover gradients", "drawn gradients")
_HALVES = "attention-halves"
"""Name among the parts for the attention of every second batch."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CalibrationPass:
    """What was gathered of a network on the calibration data, for the scores of its heads."""

    heads: NetworkHeads
    moments: tuple[LayerMoments, ...]
    """Of the heads' outputs, one per layer."""
    parts: dict[str, Any]
    """What else was gathered, by name; read it as `attention`, `gradients` and `responses`."""
    n_samples: int
    batches: tuple[ModelBatch, ...] = ()
    """What the model was shown, for refits that run it again."""
    given: tuple[ModelBatch, ...] = ()
    """The same as they were given, with their labels, for searches by the metric."""
    metric: Metric = METRICS["loss"]
    """What the pass was made for."""

    @property
    def means(self) -> list[FloatArray]:
        """Mean input of each output projection."""
        return [layer.mean for layer in self.moments]

    @property
    def attention(self) -> AttentionStatistics:
        """What the organised attention says of each head.

        Raises
        ------
        PruningError
            If the pass was made without.
        """
        return self._part("attention")  # type: ignore[no-any-return]

    @property
    def gradients(self) -> FloatArray:
        """Derivative of the loss of each batch by the gate of each head, shape (n_batches, n_heads).

        Raises
        ------
        PruningError
            If the pass was made without.
        """
        return self._part("gradients")  # type: ignore[no-any-return]

    @property
    def leftover_gradients(self) -> LeftoverGradients:
        """Derivatives by factors in front of what the rest of a layer cannot give for its heads.

        Raises
        ------
        PruningError
            If the pass was made without.
        """
        return self._part("leftover gradients")  # type: ignore[no-any-return]

    @property
    def drawn_gradients(self) -> LeftoverGradients:
        """The same, with labels drawn from the network's own answers.

        Raises
        ------
        PruningError
            If the pass was made without.
        """
        return self._part("drawn gradients")  # type: ignore[no-any-return]

    @property
    def responses(self) -> HeadResponses:
        """Change of the network's answers without each head.

        Raises
        ------
        PruningError
            If the pass was made without.
        """
        return self._part("responses")  # type: ignore[no-any-return]

    @property
    def layer_responses(self) -> LayerResponses:
        """Change of the network's answers when each layer loses half of its heads.

        Raises
        ------
        PruningError
            If the pass was made without.
        """
        return self._part("layer responses")  # type: ignore[no-any-return]

    def half_parts(self, begin: int) -> dict[str, Any]:
        """What every second batch alone has given, from the batch `begin` on, of what is known by batch.

        Parameters
        ----------
        begin : {0, 1}

        Returns
        -------
        dict
            As `parts`.
        """
        found: dict[str, Any] = {}
        if "attention" in self.parts:
            found["attention"] = self.parts[_HALVES][begin]
        if "gradients" in self.parts:
            found["gradients"] = self.gradients[begin::2]
        for name in LEFTOVER_GRADIENTS:
            if name in self.parts:
                found[name] = self._part(name).over(slice(begin, None, 2))
        if "responses" in self.parts:
            found["responses"] = self.responses.over(slice(begin, None, 2))
        if "layer responses" in self.parts:
            found["layer responses"] = self.layer_responses.over(slice(begin, None, 2))
        return found

    def _part(self, name: Part) -> Any:
        if name not in self.parts:
            raise PruningError(
                f"the score needs the {name} of the heads, which this pass did not gather. Ask for it with "
                f"calibration_pass(..., parts={{{name!r}}})."
            )
        return self.parts[name]

    def __repr__(self) -> str:
        gathered = ", ".join(["moments", *sorted(name for name in self.parts if name in get_args(Part))])
        return f"CalibrationPass({self.n_samples} samples, {self.heads.n_heads} heads: {gathered})"


def calibration_pass(
    model: torch.nn.Module,
    calibration: Any,
    *,
    parts: Collection[Part] = (),
    metric: str | Metric | Measure = "loss",
    heads: NetworkHeads | None = None,
    n_organized: int | None = None,
    n_answers: int | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> CalibrationPass:
    """Moments of the heads' outputs and, if asked for, their attention and their gradients.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    calibration : iterable
        Batches, as for :func:`haarbor.ablate`. They must not be the data that the network is measured on.
    parts : collection of {"attention", "gradients", "responses", "layer responses", \
            "leftover gradients", "drawn gradients"}
        Moments come from one forward pass. Attention is recorded in the same pass, and organised
        sample by sample; gradients need a backward pass as well, one per batch, leftover gradients another
        pass forward and back, drawn gradients one forward and four back (both together one and five);
        responses need further forward
        passes of a few samples, see :func:`haarbor.pruning.head_responses`.
    metric : str, Metric or function, default "loss"
        Its gradient is taken (for the accuracy, that of the classification loss), and it decides what of
        a batch the model is shown.
    heads : NetworkHeads, optional
    n_organized : int, optional
        Batches whose attention is organised, which takes far longer than all else; they are spread evenly
        over the calibration data. All of them if not given.
    n_answers : int, optional
        Answers (tokens of a text, images) that responses are measured on; 512 for heads and 1,024 for layers
        if not given. More make them surer, and take so many times as long.
    seed : int, default 0
        Of the random trees that serve as control, and of the labels that are drawn.
    on_progress : function of (step, done, total), optional
        Told after every batch of the pass, with the step "scoring", after every backward pass, with the step
        "gradients", and after every sample that is probed for the responses, which come last, with the step
        "probing"; all count samples.

    Returns
    -------
    CalibrationPass

    Raises
    ------
    PruningError
        If the heads cannot be found, or their attention cannot be organised together.

    See Also
    --------
    haarbor.pruning.layer_moments : Moments of what heads write.
    haarbor.pruning.pruning_scores : Scores of all heads.
    """
    require_network(model)
    require_parts(parts)
    if n_organized is not None:
        require_whole_number("n_organized", n_organized, least=1)
    if n_answers is not None:
        require_whole_number("n_answers", n_answers, least=1)
    chosen = metric_named(metric)
    given = model_batches(calibration)
    batches = [chosen.shown(batch) for batch in given]
    known = network_heads(model, batches[0]) if heads is None else heads
    n_samples = sum(map(len, batches))
    hooks = MomentHooks(model, known)
    attention = AttentionSums(known, seed=seed)
    grams = [weight.T @ weight for weight in hooks.weights()] if "attention" in parts else []
    done = 0
    # Attention is organised sample by sample; all else is summed over as many as run together.
    chosen_ones = _organized_batches(len(batches), n_organized) if "attention" in parts else []
    for number in chosen_ones:
        for row in batches[number].rows():
            attention.add(*_recorded(model, known, hooks, row), grams, half=number % 2)
        done += len(batches[number])
        if on_progress is not None:
            on_progress("scoring", done, n_samples)
    others = sorted(set(range(len(batches))) - set(chosen_ones))
    for group in joined_batches(model, [batches[number] for number in others]):
        with hooks.watching(), torch.no_grad():
            hooks.valid = group.batch.valid
            forward(model, group.batch)
        done += len(group.batch)
        if on_progress is not None:
            on_progress("scoring", done, n_samples)
    gathered: dict[str, Any] = {}
    if "attention" in parts:
        gathered["attention"] = attention.statistics()
        gathered[_HALVES] = tuple(attention.statistics(half) for half in (0, 1))
    if "gradients" in parts:
        gathered["gradients"] = frozen(gate_gradients(model, known, given, chosen, on_progress=on_progress))
    moments = hooks.moments()
    lost = [name for name in LEFTOVER_GRADIENTS if name in parts]
    if lost:
        drawn = [name == "drawn gradients" for name in lost]
        taken = leftover_gradients_of(
            model, known, moments, given, chosen, drawn, seed=seed, on_progress=on_progress
        )
        gathered |= dict(zip(lost, taken, strict=True))
    found = CalibrationPass(
        heads=known,
        moments=moments,
        parts=gathered,
        n_samples=n_samples,
        batches=tuple(batches),
        given=tuple(given),
        metric=chosen,
    )
    return with_responses(
        model, found, PROBED.intersection(parts), n_answers=n_answers, on_progress=on_progress
    )


def with_responses(
    model: torch.nn.Module,
    calibration: CalibrationPass,
    parts: Collection[Part],
    *,
    n_answers: int | None = None,
    on_progress: OnProgress | None = None,
) -> CalibrationPass:
    """A calibration pass with the answers of the network probed as well, on the data it was made from.

    Parameters
    ----------
    model : torch.nn.Module
    calibration : CalibrationPass
    parts : collection of {"responses", "layer responses"}
        What to add; those that it has stay as they are.
    n_answers : int, optional
        As for :func:`calibration_pass`.
    on_progress : function of (step, done, total), optional
        Told after every sample, with the step "probing".

    Returns
    -------
    CalibrationPass
    """
    given = (model, calibration.heads, calibration.moments)
    changes: dict[str, tuple[list[tuple[int, Change]], int]] = {}
    if "responses" in parts and "responses" not in calibration.parts:
        changes["responses"] = head_changes(*given), n_answers or HEAD_ANSWERS
    if "layer responses" in parts and "layer responses" not in calibration.parts:
        changes["layer responses"] = layer_changes(*given), n_answers or LAYER_ANSWERS
    if not changes:
        return calibration
    # Both in the same forward passes.
    probed = probed_changes(
        model, calibration.heads, calibration.batches, list(changes.values()), on_progress=on_progress
    )
    added = dict(calibration.parts)
    for (name, (made, _)), (by_sample, counts) in zip(changes.items(), probed, strict=True):
        added[name] = (
            HeadResponses.of_samples(by_sample, counts)
            if name == "responses"
            else LayerResponses.of_changes(made, by_sample, counts, n_layers=len(calibration.heads))
        )
    return replace(calibration, parts=added)


def _organized_batches(n_batches: int, n_organized: int | None) -> list[int]:
    """Batches whose attention is organised: neighbours in pairs, so that both halves get as many.

    Examples
    --------
    >>> _organized_batches(8, 4)
    [0, 1, 4, 5]
    """
    if n_organized is None or n_organized >= n_batches:
        return list(range(n_batches))
    n_pairs = max(1, (n_organized + 1) // 2)
    starts = [2 * (pair * (n_batches // 2) // n_pairs) for pair in range(n_pairs)]
    return [number for start in starts for number in (start, start + 1) if number < n_batches]


def require_parts(parts: Any) -> None:
    """Raise unless all of these can be gathered."""
    offered = get_args(Part)
    if (
        isinstance(parts, str)
        or not isinstance(parts, Collection)
        or not all(part in offered for part in parts)
    ):
        raise SettingError(
            f"parts must be among {', '.join(offered)}; found {printable(repr(parts))[:80]}. "
            "Leave the others out."
        )


def _recorded(
    model: torch.nn.Module, heads: NetworkHeads, hooks: MomentHooks, row: ModelBatch
) -> tuple[FloatArray, list[FloatArray], BoolArray]:
    """Attention (query, key, head) and the inputs of the projections of one sample, without its padding."""
    layers: list[FloatArray] = []
    masks: list[BoolArray] = []
    outputs: list[FloatArray] = []

    def on_call(
        _name: str, _module: torch.nn.Module, call: AttentionCall, weights: torch.Tensor | None
    ) -> None:
        chunks = [
            call.probabilities(call.logits(where), where) if weights is None else weights[:, where]
            for where in call.head_chunks()
        ]
        layers.append(torch.cat([chunk[0].float() for chunk in chunks]).cpu().numpy())
        masks.append(call.valid()[0].cpu().numpy())

    def keep(_number: int, x: torch.Tensor) -> None:
        outputs.append(x.detach()[0].float().cpu().numpy())

    with (
        hooks.watching(),
        projection_hooks(model, heads, change_input=keep),
        recorded_calls(model, on_call),
        torch.no_grad(),
    ):
        hooks.valid = row.valid
        forward(model, row)
    shapes = {layer.shape[1:] for layer in layers}
    if len(shapes) != 1 or len(layers) != len(heads):
        raise PruningError(
            "the heads of all layers must attend over the same queries and keys to be organised together; "
            f"found {len(shapes)} different shapes. Use scores that need no trees."
        )
    tensor = np.concatenate(layers).transpose(1, 2, 0)
    mask = np.any(masks, axis=0)
    valid = row.valid
    if valid is not None and tuple(valid.shape[1:]) == mask.shape[:1] == mask.shape[1:]:
        tokens = valid[0].cpu().numpy()
        tensor, mask = tensor[np.ix_(tokens, tokens)], mask[np.ix_(tokens, tokens)]
        outputs = [x[tokens] for x in outputs]
    return tensor, outputs, mask
