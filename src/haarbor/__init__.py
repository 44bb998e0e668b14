"""Haarbor: trees on the queries, keys and heads of a transformer's attention.

>>> import haarbor as hb
>>> X = hb.datasets.synthetic_attention(n_tokens=24, n_layers=2, heads_per_layer=3)
>>> org = hb.organize(X)
>>> org.trees["head"].n_items
6
"""

from haarbor import datasets
from haarbor.engines import CpuEngine, L1Engine
from haarbor.errors import (
    AffinityError,
    AffinityWarning,
    ConvergenceWarning,
    DataError,
    EngineError,
    HaarborError,
    HaarborWarning,
    SettingError,
    ShapeError,
    TreeError,
)
from haarbor.questionnaire import Convergence, Organization, QuestionnaireSettings, organize
from haarbor.spectral import (
    DiffusionMap,
    MarkovSpectrum,
    cosine_affinity,
    diffusion_map,
    distance_affinity,
    gaussian_affinity,
    markov_spectrum,
)
from haarbor.transport import tree_emd
from haarbor.trees import (
    PartitionTree,
    PrunedTree,
    binary_tree,
    build_tree,
    flexible_tree,
    partition_distance,
    shared_folders,
    tree_distances,
)
from haarbor.wavelets import (
    HaarSystem,
    HeadEntropy,
    NetworkEntropy,
    RankingStability,
    haar_basis,
    haar_l1,
    haar_system,
    haar_transform,
    head_entropy,
    inverse_haar_transform,
    network_entropy,
    ranking_stability,
    sorted_coefficients,
)

__version__ = "0.1.0"

__all__ = [
    "AffinityError",
    "AffinityWarning",
    "Convergence",
    "ConvergenceWarning",
    "CpuEngine",
    "DataError",
    "DiffusionMap",
    "EngineError",
    "HaarSystem",
    "HaarborError",
    "HaarborWarning",
    "HeadEntropy",
    "L1Engine",
    "MarkovSpectrum",
    "NetworkEntropy",
    "Organization",
    "PartitionTree",
    "PrunedTree",
    "QuestionnaireSettings",
    "RankingStability",
    "SettingError",
    "ShapeError",
    "TreeError",
    "__version__",
    "binary_tree",
    "build_tree",
    "cosine_affinity",
    "datasets",
    "diffusion_map",
    "distance_affinity",
    "flexible_tree",
    "gaussian_affinity",
    "haar_basis",
    "haar_l1",
    "haar_system",
    "haar_transform",
    "head_entropy",
    "inverse_haar_transform",
    "markov_spectrum",
    "network_entropy",
    "organize",
    "partition_distance",
    "ranking_stability",
    "shared_folders",
    "sorted_coefficients",
    "tree_distances",
    "tree_emd",
]
