"""Head diagnostics: what each head looks at, in figures and in words."""

from haarbor.diagnostics._attention_diagnostics import (
    ATTENTION_FIGURES,
    SINK,
    HeadDiagnostics,
    attention_diagnostics,
)
from haarbor.diagnostics._circuit_figures import HeadCircuit, circuit_figures, composition_scores
from haarbor.diagnostics._head_types import TYPES, HeadType, head_types, mean_figures
from haarbor.diagnostics._heads_table import heads_table
from haarbor.diagnostics._matrix_spectra import spectral_figures
from haarbor.diagnostics._model_diagnostics import MODEL_FIGURES, ModelDiagnostics, head_diagnostics
from haarbor.diagnostics._run_diagnostics import (
    DIAGNOSTICS,
    MODEL_DIAGNOSTICS,
    keep_model_diagnostics,
    kept_diagnostics,
    kept_model_diagnostics,
    run_diagnostics,
    run_types,
)
from haarbor.diagnostics._score_relations import (
    HAAR_SCORES,
    ScoreRelations,
    partial_rank_correlation,
    score_relations,
)

__all__ = [
    "ATTENTION_FIGURES",
    "DIAGNOSTICS",
    "HAAR_SCORES",
    "MODEL_DIAGNOSTICS",
    "MODEL_FIGURES",
    "SINK",
    "TYPES",
    "HeadCircuit",
    "HeadDiagnostics",
    "HeadType",
    "ModelDiagnostics",
    "ScoreRelations",
    "attention_diagnostics",
    "circuit_figures",
    "composition_scores",
    "head_diagnostics",
    "head_types",
    "heads_table",
    "keep_model_diagnostics",
    "kept_diagnostics",
    "kept_model_diagnostics",
    "mean_figures",
    "partial_rank_correlation",
    "run_diagnostics",
    "run_types",
    "score_relations",
    "spectral_figures",
]
