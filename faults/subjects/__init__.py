"""The functions that are called; importing this package fills `faults.subject.SUBJECTS`."""

from faults.subjects import (
    comparisons,
    datasets,
    diagnostics,
    entropies,
    networks,
    paraproducts,
    questionnaires,
    spectra,
    stores,
    transforms,
    tree_builders,
    tree_methods,
)

__all__ = [
    "comparisons",
    "datasets",
    "diagnostics",
    "entropies",
    "networks",
    "paraproducts",
    "questionnaires",
    "spectra",
    "stores",
    "transforms",
    "tree_builders",
    "tree_methods",
]
