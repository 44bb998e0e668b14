"""Everything the paper's figures and tables show of one network, without its tensors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from haarbor.analysis import CONTROLS, CoherenceControls, Control
from haarbor.array_types import BoolArray, FloatArray, IntArray
from haarbor.errors import ShapeError, StoreError
from haarbor.head_labels import head_label
from haarbor.printable import printable
from haarbor.questionnaire import QuestionnaireSettings
from haarbor.spectral import DiffusionMap
from haarbor.store import load_results_file
from haarbor.stored_result import stored_result
from haarbor.trees import PartitionTree
from haarbor.wavelets import HeadEntropy, NetworkEntropy, RankingStability, ranking_stability

__all__ = ["PAPER_BATCHES", "PaperResults", "SoftmaxExample", "loaded_results"]

PAPER_BATCHES = {"figure5": 3, "figure6": 5, "table1": 6, "table2": 5}
"""How many batches the paper shows in each figure or table."""


@stored_result("SoftmaxExample")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SoftmaxExample:
    """Logits of one head, with trees found for them alone: the example of figure 2."""

    head: int
    logits: FloatArray
    """0 where masked, shape (n_queries, n_keys)."""
    trees: Mapping[str, PartitionTree]
    """Trees of "query" and "key", from a questionnaire on this matrix alone."""


@stored_result("PaperResults")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PaperResults:
    """What the figures and tables of the paper are made of, for one network.

    Trees, orders, matrices and coefficients of heads belong to the one `batch` that is shown;
    entropies are of all batches. Padding has been cut away.
    """

    name: str
    """What the network is called in the figures."""
    content: str
    """What was organised: probabilities or logits."""
    stream: str
    head_layers: IntArray
    """Layer of each head, shape (n_heads,)."""
    batches: tuple[int, ...]
    """Batches of the run."""
    batch: int
    """The batch that is shown."""
    trees: Mapping[str, PartitionTree]
    """Trees of "query", "key" and "head"."""
    orders: Mapping[str, IntArray]
    """Leaf order of each tree."""
    head_affinity: FloatArray
    """Shape (n_heads, n_heads)."""
    head_map: DiffusionMap
    """Diffusion map of the heads, up to three coordinates."""
    shown_heads: tuple[int, ...]
    """Heads whose matrices are shown."""
    matrices: FloatArray
    """Their matrices, 0 where masked, shape (n_shown, n_queries, n_keys)."""
    mask: BoolArray
    """Valid entries, shape (n_queries, n_keys)."""
    expanded_heads: tuple[int, ...]
    """Heads whose coefficients are shown: of highest and of lowest entropy."""
    head_coefficients: FloatArray
    """Their coefficients, largest support first, shape (n_expanded, k)."""
    head_entropies: tuple[HeadEntropy, ...]
    """One per batch."""
    network_entropies: tuple[NetworkEntropy, ...]
    """One per batch."""
    network_coefficients: tuple[FloatArray, ...]
    """Tri-Haar coefficients of the first batches, largest support first, shape (network_k,) each."""
    controls: Mapping[str, CoherenceControls]
    """Controls by the number of their batch, as a text."""
    softmax_examples: tuple[SoftmaxExample, ...]
    """Empty where the run holds no logits."""
    settings: QuestionnaireSettings
    model: str
    """Name of the model in its run."""
    run_settings: Mapping[str, Any]
    """Settings that the run was made with."""
    haarbor_version: str

    def __post_init__(self) -> None:
        n_queries, n_keys, n_heads = (self.trees[axis].n_items for axis in ("query", "key", "head"))
        wanted: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
            "head_layers": (self.head_layers.shape, (n_heads,)),
            "head_affinity": (self.head_affinity.shape, (n_heads, n_heads)),
            "matrices": (self.matrices.shape, (len(self.shown_heads), n_queries, n_keys)),
            "mask": (self.mask.shape, (n_queries, n_keys)),
            "head_entropies": ((len(self.head_entropies),), (len(self.batches),)),
            "network_entropies": ((len(self.network_entropies),), (len(self.batches),)),
        }
        for field, (found, shape) in wanted.items():
            if found != shape:
                raise ShapeError(f"{field} must have shape {shape}; found {found}. Gather the results again.")

    @property
    def n_heads(self) -> int:
        """Heads of all layers together."""
        return int(self.head_layers.size)

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return int(np.unique(self.head_layers).size)

    @property
    def head_names(self) -> tuple[str, ...]:
        """Names of the heads, as "layer.head"."""
        within = np.arange(self.n_heads) - np.searchsorted(self.head_layers, self.head_layers)
        return tuple(head_label(layer, head) for layer, head in zip(self.head_layers, within, strict=True))

    @property
    def scores(self) -> FloatArray:
        """Raw entropy of every head on every batch, shape (n_batches, n_heads)."""
        return np.stack([entropy.raw for entropy in self.head_entropies])

    def stability(self, n_batches: int | None = None) -> RankingStability:
        """Agreement of the entropy rankings of the first `n_batches` batches, of all if not given."""
        return ranking_stability(self.scores[:n_batches])

    def named(self, name: str) -> PaperResults:
        """The same results under another name."""
        return replace(self, name=name)

    def summary(self) -> dict[str, Any]:
        """The main numbers as a plain dictionary that JSON can hold; None where there is no value."""
        mean = self.scores.mean(axis=0)
        order = np.argsort(-mean, kind="stable")
        stability = self.stability()
        several = len(self.batches) > 1
        tau = stability.mean_kendall_tau if several else float("nan")
        names = self.head_names
        ratios: dict[Control, float] = {
            control: self._mean_ratio(control)
            for control in CONTROLS
            if self.controls and all(control in found.made for found in self.controls.values())
        }
        return {
            "network": self.name,
            "model": self.model,
            "content": self.content,
            "stream": self.stream,
            "n_layers": self.n_layers,
            "n_heads": self.n_heads,
            "n_queries": self.trees["query"].n_items,
            "n_keys": self.trees["key"].n_items,
            "batches": list(self.batches),
            "shown_batch": self.batch,
            "shown_heads": [names[head] for head in self.shown_heads],
            "highest_entropy": [{"head": names[h], "entropy": float(mean[h])} for h in order[:3]],
            "lowest_entropy": [{"head": names[h], "entropy": float(mean[h])} for h in order[::-1][:3]],
            "mean_kendall_tau": float(tau) if np.isfinite(tau) else None,
            "mean_top_jaccard": stability.mean_top_jaccard if several else None,
            "mean_bottom_jaccard": stability.mean_bottom_jaccard if several else None,
            "heads_in_a_tenth": stability.set_size,
            "always_in_top": int((stability.top_counts == len(self.batches)).sum()),
            "always_in_bottom": int((stability.bottom_counts == len(self.batches)).sum()),
            "network_entropy": float(np.mean([entropy.raw for entropy in self.network_entropies])),
            "network_entropy_normalised": float(
                np.mean([entropy.normalised for entropy in self.network_entropies])
            ),
            "network_entropy_mean_removed": float(
                np.mean([entropy.mean_removed for entropy in self.network_entropies])
            ),
            "coherence_of_controls_over_organised": ratios if self.controls else None,
        }

    def _mean_ratio(self, control: Control) -> float:
        return float(np.mean(np.concatenate([found.ratios(control) for found in self.controls.values()])))

    def __repr__(self) -> str:
        name = printable(self.name)
        return f"PaperResults({name}: {self.n_heads} heads, {len(self.batches)} batches, {self.content})"


def loaded_results(path: str | os.PathLike[str]) -> list[PaperResults]:
    """Results in a ``results.npz``, one per network.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    list of PaperResults

    Raises
    ------
    StoreError
        If there is no such file, it is damaged, or it holds something else.

    See Also
    --------
    haarbor.paper.paper_results : What the paper shows, of a run.
    """
    found = load_results_file(path)
    if not isinstance(found, list) or not found or not all(isinstance(one, PaperResults) for one in found):
        raise StoreError(
            f"{os.fspath(path)} must hold the results of `haarbor figures`; it holds something else. "
            "Pass the results.npz that command wrote, or a run."
        )
    return found
