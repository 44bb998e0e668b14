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

from haarbor.plots.affinity_figure import affinity_figure
from haarbor.plots.coefficients_figure import coefficients_figure
from haarbor.plots.convergence_figure import convergence_figure
from haarbor.plots.damage_figure import damage_figure
from haarbor.plots.diffusion_map_figure import diffusion_map_figure
from haarbor.plots.entropy_figure import entropy_figure
from haarbor.plots.entropy_map_figure import entropy_map_figure
from haarbor.plots.haar_basis_figure import haar_basis_figure
from haarbor.plots.organised_matrix_figure import organised_matrix_figure
from haarbor.plots.paraproduct_figure import paraproduct_figure
from haarbor.plots.save_figure import save_figure
from haarbor.plots.stability_figure import stability_figure
from haarbor.plots.tree_figure import tree_figure
from haarbor.plots.write_paper_figures import write_paper_figures

__all__ = [
    "affinity_figure",
    "coefficients_figure",
    "convergence_figure",
    "damage_figure",
    "diffusion_map_figure",
    "entropy_figure",
    "entropy_map_figure",
    "haar_basis_figure",
    "organised_matrix_figure",
    "paraproduct_figure",
    "save_figure",
    "stability_figure",
    "tree_figure",
    "write_paper_figures",
]
