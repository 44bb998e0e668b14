"""Head diagnostics: what each head looks at, in figures and in words."""

from haarbor.diagnostics._attention_diagnostics import (
    ATTENTION_FIGURES,
    SINK,
    HeadDiagnostics,
    attention_diagnostics,
)
from haarbor.diagnostics._head_types import TYPES, HeadType, head_types, mean_figures
from haarbor.diagnostics._heads_table import heads_table
from haarbor.diagnostics._matrix_spectra import spectral_figures
from haarbor.diagnostics._run_diagnostics import DIAGNOSTICS, kept_diagnostics, run_diagnostics, run_types

__all__ = [
    "ATTENTION_FIGURES",
    "DIAGNOSTICS",
    "SINK",
    "TYPES",
    "HeadDiagnostics",
    "HeadType",
    "attention_diagnostics",
    "head_types",
    "heads_table",
    "kept_diagnostics",
    "mean_figures",
    "run_diagnostics",
    "run_types",
    "spectral_figures",
]
