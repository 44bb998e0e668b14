"""The figures of docs/evidence/reproduction.md, from what is kept under docs/results: no GPU needed.

python benchmarks/reproduction.py
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from haarbor.paper import PaperResults
from haarbor.paper._paper_results import loaded_results

RESULTS = Path(__file__).parents[1] / "docs" / "results"
SETS = {
    "paper-size networks": ("paper_size", ("transformer_xl_16x8", "vit_b16")),
    "embedded networks": ("embedded", ("transformer_xl_6x8", "vit_6x6")),
}


def main() -> None:
    for title, (name, tables) in SETS.items():
        found = {
            content: loaded_results(RESULTS / f"{name}_{content}.npz")
            for content in ("probabilities", "logits")
        }
        print(f"\n== {title}")
        for content, networks in found.items():
            for network in networks:
                print(f"\n{network.name}, {content}")
                ranking(network)
                coherence(network)
                scales(network)
                outliers(network)
        network_entropies(found)
        for label, table in zip((network.name for network in found["logits"]), tables, strict=True):
            softmax(label, RESULTS / f"invariance_{table}.csv")


def ranking(network: PaperResults) -> None:
    """Whether the ranking of heads is the same for every batch."""
    for n_batches in (6, len(network.batches)):
        stability = network.stability(n_batches)
        top, bottom = (
            int((counts == n_batches).sum()) for counts in (stability.top_counts, stability.bottom_counts)
        )
        print(
            f"  ranking over {n_batches:2d} batches: {top} top and {bottom} bottom heads of "
            f"{stability.set_size} in all; Kendall tau {stability.mean_kendall_tau:.2f}, Jaccard "
            f"{stability.mean_top_jaccard:.2f} (top), {stability.mean_bottom_jaccard:.2f} (bottom)"
        )


def coherence(network: PaperResults) -> None:
    """Whether the organisation beats controls."""
    ratios = network.summary()["coherence_of_controls_over_organised"]
    told = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in ratios.items())
    print(f"  l1 norm of controls over organised: {told}")


def scales(network: PaperResults) -> None:
    """Where the energy and the l1 norm of the heads are, and whether high entropy means fine scales."""
    means = {
        name: np.mean([getattr(entropy, name) for entropy in network.head_entropies], axis=0)
        for name in ("raw", "energy_share", "fine_share")
    }
    energy, fine = (np.quantile(means[name], [0.1, 0.5, 0.9]) for name in ("energy_share", "fine_share"))
    with_fine = spearmanr(means["raw"], means["fine_share"]).statistic
    print(
        f"  400 coarsest functions: {energy[1]:.2f} of the energy ({energy[0]:.2f} to {energy[2]:.2f}); l1 "
        f"norm at finer scales {fine[1]:.2f}; Spearman of H400 with that share {with_fine:.2f}"
    )


def outliers(network: PaperResults) -> None:
    """Heads far from the others in the diffusion map, and the smallest folder of the first split."""
    places = network.head_map.coordinates[:, :3]
    distance = np.linalg.norm(places - np.median(places, axis=0), axis=1)
    far = np.argsort(-distance)[:3]
    smallest = min(network.trees["head"].folders(1), key=len)
    told = ", ".join(f"{network.head_names[head]} ({distance[head]:.2f})" for head in far)
    folder = ", ".join(network.head_names[head] for head in smallest) if len(smallest) < 5 else len(smallest)
    print(f"  farthest heads: {told}, median {np.median(distance):.2f}; smallest folder of level 1: {folder}")


def network_entropies(found: dict[str, list[PaperResults]]) -> None:
    """Which network has the larger entropy, and on which object."""
    print("\n  network entropy, mean of the first five batches: H, H/norm, mean-removed")
    for content, networks in found.items():
        for network in networks:
            first = network.network_entropies[:5]
            values = [
                np.mean([getattr(one, name) for one in first])
                for name in ("raw", "normalised", "mean_removed")
            ]
            print(f"    {network.name:15} {content:14} {values[0]:10.1f} {values[1]:6.2f} {values[2]:6.2f}")


def softmax(label: str, path: Path) -> None:
    """Whether the softmax is nearly linear, and organised heads are regular."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))

    def column(name: str) -> np.ndarray:
        return np.array([float(row[name]) if row[name] else np.nan for row in rows])

    print(f"\n  {label}: share of the softmax explained, median over {len(rows)} heads (10 % to 90 %)")
    for name in ("invariance", "linear", "paper", "exact"):
        low, middle, high = np.nanquantile(column(name), [0.1, 0.5, 0.9])
        shuffled = [
            np.nanmedian(column(f"{control}_{name}")) for control in ("shuffled_trees", "shuffled_rows")
        ]
        print(
            f"    {name:10} {middle:6.2f} ({low:5.2f} to {high:4.2f}); shuffled trees {shuffled[0]:5.2f}, "
            f"shuffled rows {shuffled[1]:5.2f}"
        )
    print(f"    most invariant head: {np.nanmax(column('invariance')):.2f}; logit deviation, median "
          f"{np.nanmedian(column('logit_deviation')):.2f}")  # fmt: skip
    spread, depth = column("logit_deviation"), np.array([float(row["head"].split(".")[0]) for row in rows])
    known = np.isfinite(column("invariance"))
    print(
        "    Spearman of invariance with the logits' deviation "
        f"{spearmanr(column('invariance')[known], spread[known]).statistic:.2f}, with the layer "
        f"{spearmanr(column('invariance')[known], depth[known]).statistic:.2f}"
    )
    organised, text, shuffled = (column(f"holder_{name}") for name in ("organised", "text_order", "shuffled"))
    print(
        f"    Hölder exponent, median: organised {np.nanmedian(organised):.2f}, original order "
        f"{np.nanmedian(text):.2f}, shuffled {np.nanmedian(shuffled):.2f}; raised in "
        f"{int((organised > text).sum())} heads, above 0 in {int((organised > 0).sum())}"
    )


if __name__ == "__main__":
    main()
