"""The numbers of docs/evidence/reproduction.md are those of the files it was made from."""

import csv
import functools
from pathlib import Path

import numpy as np
import pytest

from haarbor.paper._paper_results import loaded_results

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
PAGE = (
    (ROOT / "docs" / "evidence" / "reproduction.md")
    .read_text(encoding="utf-8")
    .replace("**", "")
    .replace("\u2212", "-")
)
NETWORKS = {
    "paper_size": ("Transformer-XL 16 x 8", "ViT-B/16"),
    "embedded": ("Transformer-XL 6 x 8", "ViT 6 x 6"),
}
TABLES = {
    "Transformer-XL 16 x 8": "transformer_xl_16x8",
    "ViT-B/16": "vit_b16",
    "Transformer-XL 6 x 8": "transformer_xl_6x8",
    "ViT 6 x 6": "vit_6x6",
}


SHOWN = [
    (name, content)
    for size, names in NETWORKS.items()
    for content in ("probabilities", "logits")
    for name in names
    if content == "probabilities" or size == "paper_size"
]


@functools.cache
def kept_results(size, content):
    return dict(zip(NETWORKS[size], loaded_results(RESULTS / f"{size}_{content}.npz"), strict=True))


def results_of(name, content):
    size = next(size for size, names in NETWORKS.items() if name in names)
    return kept_results(size, content)[name]


@pytest.mark.parametrize(("name", "content"), SHOWN)
def test_tables_of_coherence_ranking_and_network_entropy_are_measured(name, content):
    results = results_of(name, content)
    ratios = results.summary()["coherence_of_controls_over_organised"]
    columns = ("shuffled_items", "random_trees", "shuffled_entries", "original_order")
    assert f"| {name}, {content} | {' | '.join(f'{ratios[column]:.2f}' for column in columns)} |" in PAGE

    six, ten = results.stability(6), results.stability(10)
    in_all = [
        int((counts == n).sum())
        for stability, n in ((six, 6), (ten, 10))
        for counts in (stability.top_counts, stability.bottom_counts)
    ]
    counts = f"{six.set_size} | {in_all[0]} | {in_all[1]} | {in_all[2]}, {in_all[3]}"
    assert f"| {name}, {content} | {counts} | {six.mean_kendall_tau:.2f} |" in PAGE

    first = results.network_entropies[:5]
    raw, normalised, removed = (
        np.mean([getattr(one, field) for one in first]) for field in ("raw", "normalised", "mean_removed")
    )
    shown = f"{raw:.1f}" if content == "probabilities" else f"{raw:.0f}"
    assert f"| {content}: {name} | {shown} | {normalised:.2f} | {removed:.2f} |" in PAGE


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_the_softmax_are_measured(name):
    with (RESULTS / f"invariance_{TABLES[name]}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    def column(field):
        return np.array([float(row[field]) if row[field] else np.nan for row in rows])

    def spread(field):
        low, middle, high = np.nanquantile(column(field), [0.1, 0.5, 0.9])
        return f"{middle:.2f} ({low:.2f} to {high:.2f})"

    def median(field):
        return f"{np.nanmedian(column(field)):.2f}"

    exact = f"| {name} | {spread('paper')} | {spread('exact')} | {median('shuffled_trees_exact')} |"
    assert exact in PAGE
    invariance = (
        f"| {name} | {spread('invariance')} | {median('linear')} | {median('shuffled_rows_invariance')} | "
        f"{np.nanmax(column('invariance')):.2f} |"
    )
    assert invariance in PAGE
