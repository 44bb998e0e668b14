"""Haarbor: trees on the queries, keys and heads of a transformer's attention.

>>> import haarbor as hb
>>> X = hb.datasets.synthetic_attention(n_tokens=24, n_layers=2, heads_per_layer=3)
>>> org = hb.organize(X)
>>> org.trees["head"].n_items
6
"""

from typing import TYPE_CHECKING, Any

from haarbor.errors import (
    AffinityError,
    AffinityWarning,
    CaptureError,
    CollapseError,
    DataError,
    EngineError,
    EngineWarning,
    HaarborError,
    HaarborWarning,
    PruningError,
    SettingError,
    ShapeError,
    StoreError,
    TreeError,
)
from haarbor.version import __version__

if TYPE_CHECKING:
    from haarbor import datasets
    from haarbor.analysis import analyze, organize_run
    from haarbor.capturing import capture, load_model
    from haarbor.collapse import RankCollapse, rank_collapse
    from haarbor.compare import Comparison, TrainingFilm, compare_runs, training_film
    from haarbor.diagnostics import (
        HeadDiagnostics,
        ModelDiagnostics,
        attention_diagnostics,
        head_diagnostics,
        run_diagnostics,
    )
    from haarbor.engines import ClusterEngine, CpuEngine, GpuEngine, L1Engine
    from haarbor.paraproducts import Paraproduct, SoftmaxInvariance, paraproduct, softmax_invariance
    from haarbor.pruning import ablate, heal, load_pruned
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
    from haarbor.store import import_arrays, open_run
    from haarbor.transport import tree_emd
    from haarbor.trees import (
        PartitionTree,
        PrunedTree,
        binary_tree,
        build_tree,
        flexible_tree,
        haar_tree,
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

# Names are looked up when they are first used: a quick start, also of the command line, which has to
# hear of an interrupt before numpy is loaded; and torch and zarr for those alone who need them.
_LATE = {
    "ClusterEngine": "haarbor.engines",
    "Comparison": "haarbor.compare",
    "Consensus": "haarbor.questionnaire",
    "Convergence": "haarbor.questionnaire",
    "CpuEngine": "haarbor.engines",
    "DiffusionMap": "haarbor.spectral",
    "GpuEngine": "haarbor.engines",
    "HaarSystem": "haarbor.wavelets",
    "HeadDiagnostics": "haarbor.diagnostics",
    "HeadEntropy": "haarbor.wavelets",
    "HolderExponent": "haarbor.wavelets",
    "L1Engine": "haarbor.engines",
    "MarkovSpectrum": "haarbor.spectral",
    "ModelDiagnostics": "haarbor.diagnostics",
    "NetworkEntropy": "haarbor.wavelets",
    "Organization": "haarbor.questionnaire",
    "Paraproduct": "haarbor.paraproducts",
    "PartitionTree": "haarbor.trees",
    "PrunedTree": "haarbor.trees",
    "QuestionnaireSettings": "haarbor.questionnaire",
    "RankingStability": "haarbor.wavelets",
    "RankCollapse": "haarbor.collapse",
    "SoftmaxInvariance": "haarbor.paraproducts",
    "TrainingFilm": "haarbor.compare",
    "ablate": "haarbor.pruning",
    "attention_diagnostics": "haarbor.diagnostics",
    "binary_tree": "haarbor.trees",
    "build_tree": "haarbor.trees",
    "capture": "haarbor.capturing",
    "compare_runs": "haarbor.compare",
    "consensus": "haarbor.questionnaire",
    "cosine_affinity": "haarbor.spectral",
    "diffusion_map": "haarbor.spectral",
    "distance_affinity": "haarbor.spectral",
    "flexible_tree": "haarbor.trees",
    "haar_tree": "haarbor.trees",
    "gaussian_affinity": "haarbor.spectral",
    "haar_basis": "haarbor.wavelets",
    "haar_l1": "haarbor.wavelets",
    "haar_system": "haarbor.wavelets",
    "haar_transform": "haarbor.wavelets",
    "head_diagnostics": "haarbor.diagnostics",
    "head_entropy": "haarbor.wavelets",
    "heal": "haarbor.pruning",
    "holder_exponent": "haarbor.wavelets",
    "import_arrays": "haarbor.store",
    "inverse_haar_transform": "haarbor.wavelets",
    "load_model": "haarbor.capturing",
    "load_pruned": "haarbor.pruning",
    "markov_spectrum": "haarbor.spectral",
    "network_entropy": "haarbor.wavelets",
    "open_run": "haarbor.store",
    "organize": "haarbor.questionnaire",
    "analyze": "haarbor.analysis",
    "organize_run": "haarbor.analysis",
    "paraproduct": "haarbor.paraproducts",
    "partition_distance": "haarbor.trees",
    "rank_collapse": "haarbor.collapse",
    "ranking_stability": "haarbor.wavelets",
    "run_diagnostics": "haarbor.diagnostics",
    "shared_folders": "haarbor.trees",
    "softmax_invariance": "haarbor.paraproducts",
    "sorted_coefficients": "haarbor.wavelets",
    "training_film": "haarbor.compare",
    "tree_distances": "haarbor.trees",
    "tree_emd": "haarbor.transport",
}
# Folders that are there as attributes without having been imported.
_FOLDERS = (
    "datasets",
    "engines",
    "paraproducts",
    "questionnaire",
    "spectral",
    "transport",
    "trees",
    "wavelets",
)

__all__ = [
    "AffinityError",
    "AffinityWarning",
    "CaptureError",
    "ClusterEngine",
    "CollapseError",
    "Comparison",
    "Consensus",
    "Convergence",
    "CpuEngine",
    "DataError",
    "DiffusionMap",
    "EngineError",
    "EngineWarning",
    "GpuEngine",
    "HaarSystem",
    "HaarborError",
    "HaarborWarning",
    "HeadDiagnostics",
    "HeadEntropy",
    "HolderExponent",
    "L1Engine",
    "MarkovSpectrum",
    "ModelDiagnostics",
    "NetworkEntropy",
    "Organization",
    "Paraproduct",
    "PartitionTree",
    "PrunedTree",
    "PruningError",
    "QuestionnaireSettings",
    "RankCollapse",
    "RankingStability",
    "SettingError",
    "ShapeError",
    "SoftmaxInvariance",
    "StoreError",
    "TrainingFilm",
    "TreeError",
    "__version__",
    "ablate",
    "analyze",
    "attention_diagnostics",
    "binary_tree",
    "build_tree",
    "capture",
    "compare_runs",
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
    "haar_tree",
    "head_diagnostics",
    "head_entropy",
    "heal",
    "holder_exponent",
    "import_arrays",
    "inverse_haar_transform",
    "load_model",
    "load_pruned",
    "markov_spectrum",
    "network_entropy",
    "open_run",
    "organize",
    "organize_run",
    "paraproduct",
    "partition_distance",
    "rank_collapse",
    "ranking_stability",
    "run_diagnostics",
    "shared_folders",
    "softmax_invariance",
    "sorted_coefficients",
    "training_film",
    "tree_distances",
    "tree_emd",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _FOLDERS:
        return import_module(f"haarbor.{name}")
    if name not in _LATE:
        raise AttributeError(f"module 'haarbor' has no attribute {name!r}")
    value = getattr(import_module(_LATE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE, *_FOLDERS})
