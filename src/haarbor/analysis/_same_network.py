"""Whether a run was captured from the network that a result was measured on."""

from __future__ import annotations

from haarbor.errors import DataError
from haarbor.store import RunPart

__all__ = ["require_same_network"]


def require_same_network(part: RunPart, *, weights: str | None = None, n_heads: int | None = None) -> None:
    """Raise unless a run is of a network with these weights and so many heads.

    Parameters
    ----------
    part : RunPart
    weights : str, optional
        Digest of the weights of the network; not compared where the run has none, as of imported arrays.
    n_heads : int, optional
        Heads of all layers of the network.

    Raises
    ------
    DataError
        If the run is of another network.
    """
    advice = "Name the run that was captured from this model."
    own = part.sizes.n_layers * part.sizes.n_heads
    if n_heads is not None and n_heads != own:
        raise DataError(
            f"the run must be of the same network; it has {own} heads, and the model has {n_heads}. {advice}"
        )
    recorded = part.run.plan.settings.get("weights")
    if weights is not None and recorded is not None and weights != recorded:
        raise DataError(
            f"the run must be of the same network; its weights are {str(recorded)[:19]}, and those of the "
            f"model are {weights[:19]}. {advice}"
        )
