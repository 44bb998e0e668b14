"""Where the classes of stored results are defined, so that a result can be read in any process."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from haarbor.errors import HaarborError, StoreError
from haarbor.options import found_text
from haarbor.stored_result import ResultType, registered_types

__all__ = ["RESULT_MODULES", "result_type_named"]

RESULT_MODULES: Mapping[str, str] = {
    "CoherenceControls": "haarbor.analysis",
    "Comparison": "haarbor.compare",
    "Consensus": "haarbor.questionnaire",
    "Convergence": "haarbor.questionnaire",
    "DiffusionMap": "haarbor.spectral",
    "HeadDiagnostics": "haarbor.diagnostics",
    "GromovWasserstein": "haarbor.compare",
    "HeadEntropy": "haarbor.wavelets",
    "HeadTreeAgreement": "haarbor.compare",
    "HeadTrees": "haarbor.analysis",
    "HeldOutCoherence": "haarbor.analysis",
    "MarkovSpectrum": "haarbor.spectral",
    "ModelDiagnostics": "haarbor.diagnostics",
    "MatchingTest": "haarbor.compare",
    "NetworkBound": "haarbor.collapse",
    "NetworkEntropy": "haarbor.wavelets",
    "NetworkPaths": "haarbor.collapse",
    "Organization": "haarbor.questionnaire",
    "PaperResults": "haarbor.paper",
    "PathDecomposition": "haarbor.collapse",
    "PathShares": "haarbor.collapse",
    "PruningResults": "haarbor.analysis",
    "QuestionnaireSettings": "haarbor.questionnaire",
    "RankCollapse": "haarbor.collapse",
    "RankingStability": "haarbor.wavelets",
    "RunCollapse": "haarbor.collapse",
    "RunComparison": "haarbor.compare",
    "RunInvariance": "haarbor.analysis",
    "RunRegularity": "haarbor.analysis",
    "ScoreRelations": "haarbor.diagnostics",
    "SoftmaxExample": "haarbor.paper",
    "TrainingFilm": "haarbor.compare",
}
"""From the stored name of a result to the room whose import registers its class."""


def result_type_named(name: str) -> ResultType:
    """Type of a stored name; the room that defines it is imported if it was not yet.

    Raises
    ------
    StoreError
        If no class has the name, or its room needs a package that is not installed.
    """
    known = registered_types()
    if name not in known and name in RESULT_MODULES:
        try:
            importlib.import_module(RESULT_MODULES[name])
        except (ImportError, HaarborError) as error:
            raise StoreError(f"a stored {name} cannot be read here: {error}") from error
    if name not in known:
        raise StoreError(
            f"a stored result must be of a type this Haarbor knows; found {found_text(name)}. "
            "Install a newer one, or import the module that registers it."
        )
    return known[name]
