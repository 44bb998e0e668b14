"""Figures of the demo."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from haarbor import plots
from haarbor.cli.demo_results import DemoResults

__all__ = ["write_figures"]


def write_figures(results: DemoResults, folder: Path) -> list[Path]:
    """Draw every figure and save it by name as PNG."""
    X, org = results.network.tensor, results.organization
    layers = results.network.head_layers
    raw = np.mean([entropy.raw for entropy in results.entropies], axis=0)
    shown = _telling_head(results)
    figures = {
        "organised_head": plots.organised_matrix_figure(
            X, org, head=shown, mask=results.network.mask, scale="log",
            title=f"Head {results.labels[shown]} ({results.network.head_kinds[shown]})",
        ),
        "head_affinity": plots.affinity_figure(org, head_layers=layers),
        "head_tree": plots.tree_figure(
            org.trees["head"], order=org.order("head"), head_layers=layers
        ),
        "head_map_3d": plots.diffusion_map_figure(org, dimensions=3, head_layers=layers),
        "head_map_2d": plots.diffusion_map_figure(org, dimensions=2, head_layers=layers),
        "head_haar_basis": plots.haar_basis_figure(
            org.trees["head"], order=org.order("head"), head_layers=layers
        ),
        "sorted_coefficients": plots.coefficients_figure(
            X, org.trees, heads=sorted({int(np.argmax(raw)), int(np.argmin(raw))}), head_layers=layers
        ),
        "entropies": plots.entropy_figure(results.entropies, head_layers=layers),
        "entropy_map": plots.entropy_map_figure(results.entropies, head_layers=layers),
        "convergence": plots.convergence_figure(org.convergence(X)),
        "stability": plots.stability_figure(results.stability, head_layers=layers),
    }  # fmt: skip
    return [plots.save_figure(figure, folder / f"{name}.png") for name, figure in figures.items()]


def _telling_head(results: DemoResults) -> int:
    """First head that looks at topics: its organised matrix shows the most; else the first head."""
    kinds = results.network.head_kinds
    return kinds.index("topic") if "topic" in kinds else 0
