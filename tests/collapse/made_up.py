"""Rank collapse that nobody measured, for tables, figures and pages."""

import numpy as np

from haarbor.collapse import (
    BOUNDED,
    FIGURES,
    VARIANTS,
    NetworkBound,
    PathShares,
    RankCollapse,
)


def made_collapse(n_layers=3, *, n_samples=2, floor=1e-6):
    """Residuals that fall to a half in every layer, and with attention alone to the third power."""
    depths = np.arange(n_layers + 1)
    composite = np.stack([0.05 ** (3.0**depths) if name == BOUNDED else 0.5**depths for name in VARIANTS])
    samples = np.linspace(0.9, 1.0, n_samples)
    figures = {name: composite[:, :, None] * samples for name in FIGURES}
    figures["log10_size"] = np.zeros_like(figures["composite"])
    figures["composite"][list(VARIANTS).index("no normalisation"), -1] = np.nan
    return RankCollapse(
        variants=tuple(VARIANTS), figures=figures, n_tokens=np.full(n_samples, 16), floor=floor
    )


def made_bound(n_layers=3, *, limit=-1.0, reason=""):
    size = 0 if reason else n_layers
    return NetworkBound(reason=reason, steps=np.full(size, 0.5), limits=np.full(size, limit))


def made_paths(n_layers=3):
    falling = 0.5 ** np.arange(n_layers + 1)
    return PathShares(
        shares={"tokens": falling, "MLPs": falling[::-1].copy(), "biases": np.zeros(n_layers + 1)},
        n_paths=4.0 ** np.arange(n_layers + 1),
        residual=falling,
        residual_error=np.full(n_layers + 1, 0.02),
        n_taken=np.full(n_layers + 1, 4),
        n_tokens=16,
        error=1e-7,
        with_mlps=True,
    )
