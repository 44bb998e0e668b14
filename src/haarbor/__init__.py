"""Haarbor: trees on the queries, keys and heads of a transformer's attention.

>>> import haarbor as hb
>>> X = hb.datasets.synthetic_attention(n_tokens=24, n_layers=2, heads_per_layer=3)
>>> org = hb.organize(X)
>>> org.trees["head"].n_items
6
"""

from typing import TYPE_CHECKING, Any

from haarbor import datasets
from haarbor.engines import CpuEngine, L1Engine
from haarbor.errors import (
    AffinityError,
    AffinityWarning,
    CaptureError,
    DataError,
    EngineError,
    HaarborError,
    HaarborWarning,
    PruningError,
    SettingError,
    ShapeError,
    StoreError,
    TreeError,
)
from haarbor.paraproducts import Paraproduct, SoftmaxInvariance, paraproduct, softmax_invariance
from haarbor.questionnaire import (
    Consensus,
    Convergence,
    Organization,
    QuestionnaireSettings,
    consensus,
    organize,
)
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
    HolderExponent,
    NetworkEntropy,
    RankingStability,
    haar_basis,
    haar_l1,
    haar_system,
    haar_transform,
    head_entropy,
    holder_exponent,
    inverse_haar_transform,
    network_entropy,
    ranking_stability,
    sorted_coefficients,
)

if TYPE_CHECKING:
    from haarbor.capturing import capture
    from haarbor.pruning.ablation import ablate
    from haarbor.pruning.pruned_checkpoint import load_pruned
    from haarbor.store import open_run

__version__ = "0.1.0"

# Names whose modules load torch or zarr: looked up when they are first used.
_LATE = {
    "ablate": "haarbor.pruning",
    "capture": "haarbor.capturing",
    "load_pruned": "haarbor.pruning",
    "open_run": "haarbor.store",
}

__all__ = [
    "AffinityError",
    "AffinityWarning",
    "CaptureError",
    "Consensus",
    "Convergence",
    "CpuEngine",
    "DataError",
    "DiffusionMap",
    "EngineError",
    "HaarSystem",
    "HaarborError",
    "HaarborWarning",
    "HeadEntropy",
    "HolderExponent",
    "L1Engine",
    "MarkovSpectrum",
    "NetworkEntropy",
    "Organization",
    "Paraproduct",
    "PartitionTree",
    "PrunedTree",
    "PruningError",
    "QuestionnaireSettings",
    "RankingStability",
    "SettingError",
    "ShapeError",
    "SoftmaxInvariance",
    "StoreError",
    "TreeError",
    "__version__",
    "ablate",
    "binary_tree",
    "build_tree",
    "capture",
    "consensus",
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
    "holder_exponent",
    "inverse_haar_transform",
    "load_pruned",
    "markov_spectrum",
    "network_entropy",
    "open_run",
    "organize",
    "paraproduct",
    "partition_distance",
    "ranking_stability",
    "shared_folders",
    "softmax_invariance",
    "sorted_coefficients",
    "tree_distances",
    "tree_emd",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'haarbor' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_LATE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
