"""Changes of a network's answers over samples spread evenly over the calibration data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.errors import DataError
from haarbor.on_progress import OnProgress
from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._network_probe import Change, NetworkProbe
from haarbor.pruning._output_change import counted_outputs, output_of

__all__ = ["probed_changes"]

N_SAMPLES = 64
"""Number of samples that are enough, however few answers they give."""


def probed_changes(
    model: torch.nn.Module,
    heads: NetworkHeads,
    batches: Sequence[ModelBatch],
    wanted: Sequence[tuple[Sequence[tuple[int, Change]], int]],
    *,
    on_progress: OnProgress | None = None,
) -> list[tuple[FloatArray, IntArray]]:
    """How much the answers of a network change when its layers give something else.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    heads : NetworkHeads
    batches : sequence of ModelBatch
        As the model is shown them; samples are taken evenly from all of them.
    wanted : sequence of (changes, int)
        Changes with the numbers of their layers, and how many answers are enough for them; so are 64
        samples, or a sixteenth of this number if that is more. All are probed in the same forward passes.
    on_progress : function of (step, done, total), optional
        Told after every sample, with the step "probing".

    Returns
    -------
    list of (by_sample, counts)
        For each of `wanted` the mean change over the answers to each sample, shape (n_samples, n_changes),
        and the number of answers per sample, shape (n_samples,).

    Raises
    ------
    DataError
        If no answer to any sample counts.
    """
    every = [row for batch in batches for row in batch.rows()]
    rows, counts = _spread_samples(every, model, max(n_enough for _, n_enough in wanted))
    sizes = [_n_samples(counts, n_enough) for _, n_enough in wanted]
    probe = NetworkProbe(model, heads)
    found: list[list[FloatArray]] = [[] for _ in wanted]
    for place, (row, answer) in enumerate(rows):
        now = [number for number, size in enumerate(sizes) if place < size]
        changes = [change for number in now for change in wanted[number][0]]
        ends = np.cumsum([len(wanted[number][0]) for number in now])[:-1]
        parts = np.split(probe.mean_changes(row, answer, changes), ends)
        for number, part in zip(now, parts, strict=True):
            found[number].append(part)
        if on_progress is not None:
            on_progress("probing", place + 1, len(rows))
    return [
        (frozen(np.stack(parts)), frozen(np.array(counts[: len(parts)], dtype=np.int64))) for parts in found
    ]


def _n_samples(counts: Sequence[int], n_enough: int) -> int:
    """How many samples, one after the other, are enough."""
    n_before = np.cumsum([0, *counts[:-1]])
    return min(int((n_before < n_enough).sum()), max(N_SAMPLES, n_enough // 16))


def _spread_samples(
    rows: list[ModelBatch], model: torch.nn.Module, n_enough: int
) -> tuple[list[tuple[ModelBatch, torch.Tensor]], list[int]]:
    """Samples spread evenly over all of them, with the network's own answers, and how many of these count."""
    # Steps of the golden ratio: wherever the walk stops, the samples so far are spread evenly.
    step = max(1, round(len(rows) * (np.sqrt(5) - 1) / 2))
    while np.gcd(step, len(rows)) != 1:
        step += 1
    found: list[tuple[ModelBatch, torch.Tensor]] = []
    counts: list[int] = []
    for place in range(len(rows)):
        if sum(counts) >= n_enough or len(found) >= max(N_SAMPLES, n_enough // 16):
            break
        row = rows[place * step % len(rows)]
        with torch.no_grad():
            answer, _ = output_of(forward(model, row))
        n_counted = int(counted_outputs(row, answer).sum())
        if n_counted:
            found.append((row, answer))
            counts.append(n_counted)
    if not found:
        raise DataError(
            "the calibration data must hold answers that count; found none."
            " Pass inputs that are not all padding."
        )
    return found, counts
