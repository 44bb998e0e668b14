"""Whether a run was captured from a model, checked before anything is measured on it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from haarbor.store import Run

__all__ = ["require_run_of"]


def require_run_of(run: Run, model: torch.nn.Module, samples: Iterable[Any]) -> str:
    """Raise unless the run is of this model; give the digest of the weights as the run has them.

    Weights are compared without running the model. A run of imported arrays keeps no digest: there the
    model runs once, on one sample, and its heads are counted.

    Raises
    ------
    DataError
        If the run is of another network.
    """
    from haarbor.analysis import asked_part, require_same_network

    part = asked_part(run, None, None)
    settings = part.run.plan.settings
    weights = _digest(model, settings.get("model_dtype"))
    if settings.get("weights") is not None:
        require_same_network(part, weights=weights)
    else:
        from haarbor.pruning import model_batches, network_heads

        sample = next(model_batches([next(iter(samples))])[0].rows())
        require_same_network(part, n_heads=network_heads(model, sample).n_heads)
    return weights


def _digest(model: torch.nn.Module, precision: object) -> str:
    """Digest of the weights in the precision in which the run was captured, for it depends on that."""
    import torch

    from haarbor.capturing import weights_digest

    wanted = getattr(torch, str(precision), None)
    if isinstance(wanted, torch.dtype) and next(model.parameters()).dtype != wanted:
        model = copy.deepcopy(model).to(wanted)
    return weights_digest(model)
