"""The functions that are called; importing this package fills `faults.subject.SUBJECTS`."""

from faults.subjects import (
    datasets,
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
    "datasets",
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
