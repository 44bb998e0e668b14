"""Short training of the attention weights that are left after pruning."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from haarbor.array_types import FloatArray, frozen
from haarbor.errors import PruningError
from haarbor.on_progress import OnProgress
from haarbor.options import require_function, require_real_number, require_seed, require_whole_number
from haarbor.pruning._joined_batches import joined_batches
from haarbor.pruning._metrics import Measure, Metric, logits_of, metric_named
from haarbor.pruning._model_batches import ModelBatch, forward, model_batches, require_network
from haarbor.pruning._network_heads import NetworkHeads, network_heads
from haarbor.pruning._output_change import counted_outputs, output_of

__all__ = ["Healing", "heal", "require_trainable"]

_N_ROWS = 8
"""Samples of a step at most."""
_LONGEST = 1.0
"""Gradients longer than this are shortened to it."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Healing:
    """A network of which the attention was trained for some steps."""

    network: torch.nn.Module
    """The trained copy, in eval mode."""
    losses: FloatArray
    """Loss on the samples of each step, before it was taken, shape (n_steps,)."""
    n_trained: int
    """Numbers that were trained."""
    learning_rate: float
    seed: int

    @property
    def n_steps(self) -> int:
        """Steps that were taken."""
        return int(self.losses.size)

    def __repr__(self) -> str:
        return f"Healing({self.n_steps} steps, {self.n_trained} weights)"


def heal(
    model: torch.nn.Module,
    calibration: Any,
    *,
    steps: int,
    teacher: torch.nn.Module | None = None,
    metric: str | Metric | Measure = "loss",
    learning_rate: float = 3e-5,
    seed: int = 0,
    heads: NetworkHeads | None = None,
    on_progress: OnProgress | None = None,
) -> Healing:
    """Train the attention of a pruned network for a few steps, on the data it was calibrated with.

    Only the weights of the attention modules and of their output projections are trained; all others stay
    as they are. Weights that are exactly zero in an output projection stay zero, so that heads which are
    switched off do not come back.

    Parameters
    ----------
    model : torch.nn.Module
        Pruned, in eval mode; left as it is. Nothing is dropped out: it is trained as it is measured.
    calibration : iterable
        Batches to train on, as for :func:`haarbor.ablate`; what comes of it must be measured on others.
    steps : int
        Above 0.
    teacher : torch.nn.Module, optional
        The whole network, in eval mode. If given, the answers are trained towards its answers (relative
        entropy; for answers that are vectors, the squared difference), and no labels are used. A few
        samples are then less soon learnt by heart.
    metric : str, Metric or function, default "loss"
        What is trained for without a teacher (for the accuracy, the classification loss); with one, it only
        says what of a batch the network is shown, and which answers count.
    learning_rate : float, default 3e-5
        Of AdamW without decay of the weights; it rises over the first tenth of the steps, and falls to a
        tenth along a cosine.
    seed : int, default 0
        Of the order in which batches are taken. The same seed gives the same network on the same machine.
    heads : NetworkHeads, optional
        Of `model`, if known.
    on_progress : function of (step, done, total), optional
        Told after every step, with the step "healing".

    Returns
    -------
    Healing

    Raises
    ------
    PruningError
        If the metric has no gradient and there is no teacher, the loss is no longer finite, or the weights
        have too few digits to be trained.
    SettingError
        If a setting is not offered.

    See Also
    --------
    haarbor.load_pruned : A pruned network from its folder.
    haarbor.pruning.prune_heads : A smaller copy of a model.
    haarbor.pruning.save_pruned : Write a pruned network.
    """
    require_network(model)
    steps = require_whole_number("steps", steps, 1)
    rate = require_real_number("learning_rate", learning_rate, positive=True)
    require_seed(seed)
    require_function("on_progress", on_progress)
    chosen = metric_named(metric)
    require_trainable(model)
    if teacher is not None:
        require_network(teacher)
    batches = model_batches(calibration)
    shown = [chosen.shown(batch) for batch in batches]
    found = network_heads(model, shown[0]) if heads is None else heads
    network = copy.deepcopy(model)
    for weight in network.parameters():
        weight.requires_grad_(False)
    trained, zeros = _trained(network, found)
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.0)
    losses = np.empty(steps)
    drawn = _drawn(batches, np.random.default_rng(seed))
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * _schedule(step, steps)
        optimizer.zero_grad(set_to_none=True)
        with torch.enable_grad():
            own = next(drawn)
            loss = (
                _mean_loss(network, own, chosen)
                if teacher is None
                else _mean_change(network, teacher, own, chosen)
            )
        if not loss.requires_grad:
            raise _no_gradient(chosen)
        losses[step] = float(loss.detach())
        if not math.isfinite(losses[step]):
            raise PruningError(
                f"the loss must stay finite while the network heals; at step {step + 1} it is {losses[step]}."
                " Take a lower learning rate."
            )
        loss.backward()  # type: ignore[no-untyped-call]
        for weight, gone in zeros:
            if weight.grad is not None:
                weight.grad[gone] = 0.0
        torch.nn.utils.clip_grad_norm_(trained, _LONGEST)
        optimizer.step()
        if on_progress is not None:
            on_progress("healing", step + 1, steps)
    for old, new in zip(model.parameters(), network.parameters(), strict=True):
        new.requires_grad_(old.requires_grad)
        new.grad = None
    return Healing(
        network=network.eval(),
        losses=frozen(losses),
        n_trained=sum(weight.numel() for weight in trained),
        learning_rate=rate,
        seed=int(seed),
    )


def require_trainable(model: torch.nn.Module) -> None:
    """Raise unless the weights of a network have digits enough for small steps.

    Raises
    ------
    PruningError
        If they are in half precision.
    """
    if any(weight.dtype in (torch.float16, torch.bfloat16) for weight in model.parameters()):
        raise PruningError(
            "weights must be in float32 to be trained; these are in half precision. Load the network in "
            "float32."
        )


def _no_gradient(metric: Metric) -> PruningError:
    return PruningError(
        f"the metric {metric.name!r} has no gradient, so no network can be trained for it. Heal with a loss."
    )


def _trained(
    network: torch.nn.Module, heads: NetworkHeads
) -> tuple[list[torch.nn.Parameter], list[tuple[torch.nn.Parameter, torch.Tensor]]]:
    """Weights of the attention, each once, and which of those of output projections stay zero."""
    modules = dict(network.named_modules())
    weights: dict[int, torch.nn.Parameter] = {}
    zeros: dict[int, tuple[torch.nn.Parameter, torch.Tensor]] = {}
    for layer in heads.layers:
        # A network that attends by itself has no module of its own for it: its projection alone is trained.
        for name in filter(None, (layer.attention, layer.projection)):
            for weight in modules[name].parameters():
                weights[id(weight)] = weight
        for weight in modules[layer.projection].parameters():
            if weight.dim() == 2 and bool((weight == 0).any()):
                zeros[id(weight)] = (weight, weight == 0)
    for weight in weights.values():
        weight.requires_grad_(True)
    return list(weights.values()), list(zeros.values())


def _drawn(batches: Sequence[ModelBatch], rng: np.random.Generator) -> Iterator[list[ModelBatch]]:
    """Batches for each step: all of them in a random order, again and again, some samples at a time."""
    own: list[ModelBatch] = []
    n_rows = 0
    while True:
        for place in rng.permutation(len(batches)):
            batch = batches[int(place)]
            if own and n_rows + len(batch) > _N_ROWS:
                yield own
                own, n_rows = [], 0
            own.append(batch)
            n_rows += len(batch)


def _mean_loss(network: torch.nn.Module, batches: Sequence[ModelBatch], metric: Metric) -> torch.Tensor:
    if metric.graded_of_answer is None:
        sums = [metric.graded_total(network, batch) for batch in batches]
    else:
        sums = []
        for group in joined_batches(network, [metric.shown(batch) for batch in batches]):
            logits = logits_of(forward(network, group.batch))
            sums += [metric.graded_of_answer(logits[rows], batches[place]) for place, rows in group.parts()]
    total = torch.stack([value for value, _count in sums]).sum()
    return total / sum(count for _value, count in sums)


def _mean_change(
    network: torch.nn.Module, teacher: torch.nn.Module, batches: Sequence[ModelBatch], metric: Metric
) -> torch.Tensor:
    """Mean change from the answers of the teacher to those of the network, over the answers that count."""
    changes = []
    for group in joined_batches(network, [metric.shown(batch) for batch in batches]):
        with torch.no_grad():
            aim, vectors = output_of(forward(teacher, group.batch))
        found, _ = output_of(forward(network, group.batch))
        counted = counted_outputs(group.batch, aim)
        aim, found = aim[counted].float(), found[counted].float()
        if vectors:
            squares = aim.square().sum(dim=-1).clamp_min(torch.finfo(torch.float32).tiny)
            changes.append((found - aim).square().sum(dim=-1) / squares)
        else:
            changes.append(
                functional.kl_div(
                    found.log_softmax(dim=-1), aim.log_softmax(dim=-1), log_target=True, reduction="none"
                ).sum(dim=-1)
            )
    return torch.cat(changes).mean()


def _schedule(step: int, steps: int) -> float:
    """Factor of the learning rate: up over a tenth of the steps, then down along a cosine to a tenth."""
    warm = max(1, steps // 10)
    if step < warm:
        return (step + 1) / warm
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))
