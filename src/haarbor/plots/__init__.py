"""Figures of organised attention, drawn with matplotlib and returned, never shown.

>>> import haarbor as hb
>>> from haarbor.plots import tree_figure
>>> figure = tree_figure(hb.PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]]))
"""

try:
    import matplotlib  # noqa: F401
except ImportError:
    from haarbor.errors import SettingError

    raise SettingError(
        "figures need the matplotlib package, which is not installed. Run pip install 'haarbor[report]'."
    ) from None

from haarbor.plots._affinity_figure import affinity_figure, draw_affinity
from haarbor.plots._coefficients_figure import coefficients_figure, draw_stems, draw_supports, support_shares
from haarbor.plots._collapse_figure import collapse_figure
from haarbor.plots._comparison_figure import comparison_figure
from haarbor.plots._convergence_figure import convergence_figure
from haarbor.plots._damage_figure import damage_figure
from haarbor.plots._diffusion_map_figure import diffusion_map_figure, draw_diffusion_map
from haarbor.plots._entropy_figure import entropy_figure
from haarbor.plots._entropy_map_figure import entropy_map_figure
from haarbor.plots._haar_basis_figure import draw_haar_basis, haar_basis_figure
from haarbor.plots._head_types_figure import head_types_figure
from haarbor.plots._organized_matrix_figure import organized_matrix_figure
from haarbor.plots._paraproduct_figure import paraproduct_figure
from haarbor.plots._path_figure import path_figure
from haarbor.plots._pruning_figure import pruning_figure
from haarbor.plots._relations_figure import relations_figure
from haarbor.plots._save_figure import save_figure
from haarbor.plots._stability_figure import stability_figure
from haarbor.plots._training_figure import training_figure
from haarbor.plots._tree_figure import draw_tree, tree_figure

__all__ = [
    "affinity_figure",
    "coefficients_figure",
    "collapse_figure",
    "comparison_figure",
    "convergence_figure",
    "damage_figure",
    "diffusion_map_figure",
    "draw_affinity",
    "draw_diffusion_map",
    "draw_haar_basis",
    "draw_stems",
    "draw_supports",
    "draw_tree",
    "entropy_figure",
    "entropy_map_figure",
    "haar_basis_figure",
    "head_types_figure",
    "organized_matrix_figure",
    "paraproduct_figure",
    "path_figure",
    "pruning_figure",
    "relations_figure",
    "save_figure",
    "stability_figure",
    "support_shares",
    "training_figure",
    "tree_figure",
]
