"""What the demo finds, ready to print, write and draw."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haarbor.datasets import SyntheticNetwork, synthetic_network
from haarbor.questionnaire import Organization, organize
from haarbor.wavelets import (
    HeadEntropy,
    NetworkEntropy,
    RankingStability,
    haar_l1,
    head_entropy,
    network_entropy,
    ranking_stability,
)

__all__ = ["DemoResults", "HeadFolder", "demo_results"]

_SHOWN = 4


@dataclass(frozen=True, slots=True, eq=False)
class HeadFolder:
    """A folder of heads in words."""

    heads: tuple[int, ...]
    kinds: str
    labels: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DemoResults:
    """Everything the demo shows."""

    network: SyntheticNetwork
    organization: Organization
    entropies: tuple[HeadEntropy, ...]
    network_entropy: NetworkEntropy
    stability: RankingStability
    coherence: float
    coherence_shuffled_trees: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return self.network.tensor.shape

    @property
    def labels(self) -> list[str]:
        """Heads as layer.head."""
        layers = self.network.head_layers
        within = np.arange(layers.size) - np.searchsorted(layers, layers)
        return [f"{layer}.{head}" for layer, head in zip(layers, within, strict=True)]

    def head_folders(self) -> list[HeadFolder]:
        """Folders of the head tree at the first level with at least as many folders as kinds."""
        tree = self.organization.trees["head"]
        kinds = self.network.head_kinds
        wanted = len(set(kinds))
        level = next(
            (level for level in range(tree.n_levels) if len(tree.folders(level)) >= wanted), tree.n_levels - 1
        )
        found = []
        for items in sorted(tree.folders(level), key=len, reverse=True):
            counts = Counter(kinds[head] for head in items).most_common()
            words = ", ".join(f"{count} {kind}" for kind, count in counts)
            names = " ".join(self.labels[head] for head in items)
            found.append(HeadFolder(tuple(int(head) for head in items), words, names))
        return found

    def ranking_rows(self) -> list[tuple[str, ...]]:
        """Highest and lowest heads by mean entropy, as texts."""
        raw = np.mean([entropy.raw for entropy in self.entropies], axis=0)
        order = np.argsort(-raw, kind="stable")
        few = order.size <= 2 * _SHOWN
        chosen = list(order) if few else [*order[:_SHOWN], None, *order[-_SHOWN:]]
        return [("...",) + ("",) * 7 if head is None else self._row(int(head), raw) for head in chosen]

    def _row(self, head: int, raw: Any) -> tuple[str, ...]:
        first = self.entropies[0]
        least, most = first.tie_interval[head]
        n_batches = len(self.entropies)
        return (
            self.labels[head],
            self.network.head_kinds[head],
            f"{raw[head]:.2f}",
            f"{max(first.raw[head] - least, most - first.raw[head]):.2f}",
            f"{np.mean([e.normalised[head] for e in self.entropies]):.2f}",
            f"{np.mean([e.fine_share[head] for e in self.entropies]):.2f}",
            f"{self.stability.top_counts[head]}/{n_batches}",
            f"{self.stability.bottom_counts[head]}/{n_batches}",
        )

    def summary(self) -> dict[str, Any]:
        """The figures as a plain dictionary."""
        stability = self.stability
        several = stability.n_batches > 1
        return {
            "shape": list(self.shape),
            "n_batches": stability.n_batches,
            "iterations": self.organization.n_iterations,
            "converged": self.organization.converged,
            "coherence": self.coherence,
            "coherence_shuffled_trees": self.coherence_shuffled_trees,
            "network_entropy": self.network_entropy.raw,
            "network_entropy_normalised": self.network_entropy.normalised,
            "mean_kendall_tau": stability.mean_kendall_tau if several else None,
            "mean_top_jaccard": stability.mean_top_jaccard if several else None,
            "mean_bottom_jaccard": stability.mean_bottom_jaccard if several else None,
            "head_folders": [
                {"heads": list(folder.heads), "kinds": folder.kinds} for folder in self.head_folders()
            ],
        }

    def write_tables(self, folder: Path) -> list[Path]:
        """Write the entropies as CSV and the head tree as JSON and Newick."""
        table = folder / "entropies.csv"
        with table.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(
                ["batch", "layer", "head", "kind", "raw", "least", "most", "normalised", "mean_removed",
                 "energy_share", "all_scales", "fine_share"]
            )  # fmt: skip
            for batch, entropy in enumerate(self.entropies):
                for head, label in enumerate(self.labels):
                    layer, within = label.split(".")
                    values = [entropy.raw[head], *entropy.tie_interval[head], entropy.normalised[head],
                              entropy.mean_removed[head], entropy.energy_share[head],
                              entropy.all_scales[head], entropy.fine_share[head]]  # fmt: skip
                    kind = self.network.head_kinds[head]
                    writer.writerow([batch, layer, within, kind, *(f"{value:.10g}" for value in values)])
        tree = self.organization.trees["head"]
        as_json, as_newick = folder / "head_tree.json", folder / "head_tree.nwk"
        as_json.write_text(tree.to_json() + "\n")
        as_newick.write_text(tree.to_newick(self.labels) + "\n")
        return [table, as_json, as_newick]


def demo_results(
    n_tokens: int, n_layers: int, heads_per_layer: int, n_batches: int, seed: int
) -> DemoResults:
    """Organise and score every batch of a synthetic network."""
    networks = [
        synthetic_network(n_tokens, n_layers, heads_per_layer, batch=batch, seed=seed)
        for batch in range(n_batches)
    ]
    organizations = [organize(network.tensor, mask=network.mask) for network in networks]
    entropies = tuple(
        head_entropy(network.tensor, org.trees) for network, org in zip(networks, organizations, strict=True)
    )
    trees = organizations[0].trees
    rng = np.random.default_rng(seed)
    shuffled = {axis: tree.permuted(rng.permutation(tree.n_items)) for axis, tree in trees.items()}
    return DemoResults(
        network=networks[0],
        organization=organizations[0],
        entropies=entropies,
        network_entropy=network_entropy(networks[0].tensor, trees),
        stability=ranking_stability(np.stack([entropy.raw for entropy in entropies])),
        coherence=haar_l1(networks[0].tensor, trees),
        coherence_shuffled_trees=haar_l1(networks[0].tensor, shuffled),
    )
