"""Figures of the HTML report as interactive plotly figures, for notebooks.

>>> import haarbor as hb
>>> from haarbor.plots.interactive import affinity_figure
>>> org = hb.organize(hb.datasets.synthetic_attention(n_tokens=12, n_layers=2, heads_per_layer=2))
>>> figure = affinity_figure(org, heads_per_layer=2)
"""

from haarbor.plots.interactive._head_affinity import affinity_figure
from haarbor.plots.interactive._head_attention import attention_figure
from haarbor.plots.interactive._head_diffusion_map import diffusion_map_figure
from haarbor.plots.interactive._head_haar_scales import haar_scales_figure
from haarbor.plots.interactive._head_map import head_map_figure
from haarbor.plots.interactive._head_over_batches import over_batches_figure
from haarbor.plots.interactive._head_tree import head_tree_figure

__all__ = [
    "affinity_figure",
    "attention_figure",
    "diffusion_map_figure",
    "haar_scales_figure",
    "head_map_figure",
    "head_tree_figure",
    "over_batches_figure",
]
