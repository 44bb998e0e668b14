"""Everything that scores are computed from, gathered in one pass over the calibration data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray, frozen
from haarbor.capturing import AttentionCall, recorded_calls
from haarbor.errors import PruningError, SettingError
from haarbor.on_progress import OnProgress
from haarbor.printable import printable
from haarbor.pruning._attention_statistics import AttentionStatistics, AttentionSums
from haarbor.pruning._head_gates import gated_heads
from haarbor.pruning._head_responses import HeadResponses, head_responses
from haarbor.pruning._layer_moments import LayerMoments, MomentHooks
from haarbor.pruning._metrics import Measure, Metric, metric_named
from haarbor.pruning._model_batches import ModelBatch, forward, model_batches, require_network
from haarbor.pruning._network_heads import NetworkHeads, network_heads
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["CalibrationPass", "Part", "calibration_pass", "require_parts"]

Part = Literal["attention", "gradients", "responses"]
"""What a pass may gather beyond the moments of the heads' outputs."""


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
    def responses(self) -> HeadResponses:
        """Change of the network's answers without each head.

        Raises
        ------
        PruningError
            If the pass was made without.
        """
        return self._part("responses")  # type: ignore[no-any-return]

    def _part(self, name: Part) -> Any:
        if name not in self.parts:
            raise PruningError(
                f"the score needs the {name} of the heads, which this pass did not gather. Ask for it with "
                f"calibration_pass(..., parts={{{name!r}}})."
            )
        return self.parts[name]

    def __repr__(self) -> str:
        gathered = ", ".join(["moments", *sorted(self.parts)])
        return f"CalibrationPass({self.n_samples} samples, {self.heads.n_heads} heads: {gathered})"


def calibration_pass(
    model: torch.nn.Module,
    calibration: Any,
    *,
    parts: Collection[Part] = (),
    metric: str | Metric | Measure = "loss",
    heads: NetworkHeads | None = None,
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
    parts : collection of {"attention", "gradients", "responses"}
        Moments come from one forward pass. Attention is recorded in the same pass, and organised
        sample by sample; gradients need a backward pass as well, one per batch; responses need further
        forward passes of a few samples, see :func:`haarbor.pruning.head_responses`.
    metric : str, Metric or function, default "loss"
        Its gradient is taken (for the accuracy, that of the classification loss), and it decides what of
        a batch the model is shown.
    heads : NetworkHeads, optional
    seed : int, default 0
        Of the random trees that serve as control.
    on_progress : function of (step, done, total), optional
        Told after every batch of the pass, with the step "scoring", and after every sample that is probed
        for the responses, which come last, with the step "probing"; both count samples.

    Returns
    -------
    CalibrationPass

    Raises
    ------
    PruningError
        If the heads cannot be found, or their attention cannot be organised together.
    """
    require_network(model)
    require_parts(parts)
    chosen = metric_named(metric)
    given = model_batches(calibration)
    batches = [chosen.shown(batch) for batch in given]
    known = network_heads(model, batches[0]) if heads is None else heads
    n_samples = sum(map(len, batches))
    hooks = MomentHooks(model, known)
    attention = AttentionSums(known, seed=seed)
    grams = [weight.T @ weight for weight in hooks.weights()] if "attention" in parts else []
    gradients: list[FloatArray] = []
    done = 0
    for batch, whole in zip(batches, given, strict=True):
        if "attention" in parts:
            for row in batch.rows():
                attention.add(*_recorded(model, known, hooks, row), grams)
        else:
            with hooks.watching(), torch.no_grad():
                hooks.valid = batch.valid
                forward(model, batch)
        if "gradients" in parts:
            gradients.append(_gate_gradient(model, known, whole, chosen))
        done += len(batch)
        if on_progress is not None:
            on_progress("scoring", done, n_samples)
    gathered: dict[str, Any] = {}
    if "attention" in parts:
        gathered["attention"] = attention.statistics()
    if "gradients" in parts:
        gathered["gradients"] = frozen(np.stack(gradients))
    moments = hooks.moments()
    if "responses" in parts:
        gathered["responses"] = head_responses(model, known, moments, batches, on_progress=on_progress)
    return CalibrationPass(
        heads=known, moments=moments, parts=gathered, n_samples=n_samples, batches=tuple(batches)
    )


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


def _gate_gradient(
    model: torch.nn.Module, heads: NetworkHeads, batch: ModelBatch, metric: Metric
) -> FloatArray:
    """Derivative of the metric by a factor in front of each head, at 1."""
    weight = next(model.parameters())
    gates = [torch.ones(layer.n_heads, device=weight.device, requires_grad=True) for layer in heads.layers]
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        with torch.enable_grad(), gated_heads(model, heads, gates):
            total, count = metric.graded_total(model, batch)
            if not total.requires_grad:
                raise PruningError(
                    f"the metric {metric.name!r} has no gradient. Take scores that need none, or give a loss."
                )
            found = torch.autograd.grad(total / count, gates)
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)
    return np.concatenate([gradient.double().cpu().numpy() for gradient in found])
