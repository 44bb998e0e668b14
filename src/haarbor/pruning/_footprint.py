"""How large and how fast a network is."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import torch

from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.zoo import n_parameters

__all__ = ["Footprint", "footprints"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Size of a network, and the time it takes."""

    n_parameters: int
    n_bytes: int
    """Of its weights in memory."""
    seconds: float
    """Median time of a forward pass over one batch, until its answer is there."""


def footprints(
    models: tuple[torch.nn.Module, ...], batch: ModelBatch, *, n_runs: int = 5
) -> tuple[Footprint, ...]:
    """Size and speed of several networks, measured in turns so that all meet the same machine.

    Parameters
    ----------
    models : tuple of torch.nn.Module
    batch : ModelBatch
    n_runs : int, default 5
        After one that is not counted.

    Returns
    -------
    tuple of Footprint, one per network

    See Also
    --------
    haarbor.pruning.prune_heads : A smaller copy of a model.
    """
    times: list[list[float]] = [[] for _ in models]
    with torch.no_grad():
        for run in range(n_runs + 1):
            for model, taken in zip(models, times, strict=True):
                # Work on a GPU is only queued by the call: what is queued before must be over when the
                # clock starts, and what the call queued when it stops.
                _finish(model)
                begin = time.perf_counter()
                forward(model, batch)
                _finish(model)
                if run:
                    taken.append(time.perf_counter() - begin)
    return tuple(
        Footprint(
            n_parameters=n_parameters(model),
            n_bytes=sum(weight.numel() * weight.element_size() for weight in model.parameters()),
            seconds=statistics.median(taken),
        )
        for model, taken in zip(models, times, strict=True)
    )


def _finish(model: torch.nn.Module) -> None:
    """Wait until the devices of a model have finished all queued work."""
    for device in {weight.device for weight in model.parameters()}:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        elif device.type == "mps":
            torch.mps.synchronize()
