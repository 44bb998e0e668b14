"""The pictures of the page as plotly figures, for notebooks.

>>> import haarbor as hb
>>> from haarbor.report.figures import affinity_figure
>>> org = hb.organize(hb.datasets.synthetic_attention(n_tokens=12, n_layers=2, heads_per_layer=2))
>>> figure = affinity_figure(org, heads_per_layer=2)
"""

from haarbor.report.figures.affinity import affinity_figure
from haarbor.report.figures.attention import attention_figure
from haarbor.report.figures.diffusion_map import diffusion_map_figure
from haarbor.report.figures.haar_scales import haar_scales_figure
from haarbor.report.figures.head_map import head_map_figure
from haarbor.report.figures.head_tree import head_tree_figure
from haarbor.report.figures.over_batches import over_batches_figure

__all__ = [
    "affinity_figure",
    "attention_figure",
    "diffusion_map_figure",
    "haar_scales_figure",
    "head_map_figure",
    "head_tree_figure",
    "over_batches_figure",
]
