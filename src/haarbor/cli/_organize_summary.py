"""What haarbor organize found in a run: as numbers, and in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from haarbor.cli._diagnosed import types_line, types_of
from haarbor.cli._heads_text import heads_text, other_streams_text
from haarbor.cli._told_apart import TOGETHER_ADVICE, are_told_apart, together_text
from haarbor.head_labels import head_labels

if TYPE_CHECKING:
    from haarbor.analysis import RunAnalysis
    from haarbor.store import Run

__all__ = ["organize_summary", "summary_lines"]

_AGREES = 0.1


def organize_summary(run: Run, found: RunAnalysis) -> dict[str, Any]:
    """What was found in a stream of a run, as values that JSON has.

    Parameters
    ----------
    run : Run
    found : RunAnalysis

    Returns
    -------
    dict
    """
    raw = np.mean([entropy.raw for entropy in found.head_entropies], axis=0)
    order = np.argsort(-raw, kind="stable")
    sizes = run.plan.stream(found.stream)
    labels = head_labels(sizes.n_layers, sizes.n_heads)
    stability = found.stability
    closest = _closest_heads(found.consensus.distances)
    several = len(found.batches) > 1
    return {
        "model": run.model,
        "stream": found.stream,
        "streams": {stream.name: stream.n_layers * stream.n_heads for stream in run.plan.streams},
        "content": found.content,
        "tree": found.tree,
        "n_heads": int(raw.size),
        "n_batches": len(found.batches),
        "batches_reused": found.n_reused,
        "results_remade": list(found.remade),
        "heads_told_apart": are_told_apart(float(raw.min()), float(raw.max())),
        "highest_entropy": [{"head": labels[i], "entropy": float(raw[i])} for i in order[:5]],
        "lowest_entropy": [{"head": labels[i], "entropy": float(raw[i])} for i in order[::-1][:5]],
        "closest_heads": [[labels[i], labels[j]] for i, j in closest],
        "network_entropy": float(np.mean([entropy.raw for entropy in found.network_entropies])),
        "network_entropy_normalised": float(
            np.mean([entropy.normalised for entropy in found.network_entropies])
        ),
        "mean_kendall_tau": stability.mean_kendall_tau if several else None,
        "mean_top_jaccard": stability.mean_top_jaccard if several else None,
        "mean_bottom_jaccard": stability.mean_bottom_jaccard if several else None,
        "always_in_top": [labels[i] for i in np.flatnonzero(stability.top_counts == len(found.batches))],
        "always_in_bottom": [
            labels[i] for i in np.flatnonzero(stability.bottom_counts == len(found.batches))
        ],
        "mean_distance_to_consensus": float(found.consensus.tree_distance.mean()),
        "head_types": types_of(run.part(found.content, found.stream)),
    }


def _closest_heads(distances: Any, most: int = 5) -> list[tuple[int, int]]:
    rows, columns = np.triu_indices(distances.shape[0], 1)
    nearest = np.argsort(distances[rows, columns], kind="stable")[:most]
    return [(int(rows[i]), int(columns[i])) for i in nearest]


def summary_lines(run: Run, summary: dict[str, Any]) -> list[str]:
    """The same in sentences.

    Parameters
    ----------
    run : Run
    summary : dict
        As :func:`organize_summary` gives it.

    Returns
    -------
    list of str
    """
    n_heads, n_batches = summary["n_heads"], summary["n_batches"]
    heads = f"{n_heads} head{'' if n_heads == 1 else 's'}"
    batches = f"{n_batches} batch{'' if n_batches == 1 else 'es'}"
    if len(run.plan.streams) == 1:
        about = f"{summary['content']}, stream {summary['stream']}; heads are written layer.head"
        lines = [f"{summary['model']}: {heads} on {batches} ({about})."]
    else:
        lines = [
            f"{summary['model']}: {heads_text(run.plan)}.",
            f"Stream {summary['stream']}: {heads} on {batches} ({summary['content']}; heads are written "
            "layer.head).",
        ]
    if n_heads > 1:
        lines += _ranking_lines(summary)
    if summary["mean_kendall_tau"] is not None and n_heads > 1:
        lines.append(
            "One head tree was made of all batches; the batches' own trees lie "
            f"{summary['mean_distance_to_consensus']:.2f} from it on average (0: the same, 1: the farthest)."
        )
    lines.append(
        f"Network entropy {summary['network_entropy']:.2f}, normalised "
        f"{summary['network_entropy_normalised']:.3f}."
    )
    if summary["head_types"]:
        lines.append(f"Types of heads: {types_line(summary['head_types'])}.")
    others = other_streams_text(run.plan, summary["stream"])
    return lines if others is None else [*lines, others]


def _ranking_lines(summary: dict[str, Any]) -> list[str]:
    highest, lowest = summary["highest_entropy"], summary["lowest_entropy"]
    if not summary["heads_told_apart"]:
        return [together_text(lowest[0]["entropy"], highest[0]["entropy"]), TOGETHER_ADVICE]
    lines = [
        "Most coarse structure (highest Haar entropy): "
        + ", ".join(f"{entry['head']} ({entry['entropy']:.1f})" for entry in highest)
        + ".",
        "Least: " + ", ".join(f"{entry['head']} ({entry['entropy']:.1f})" for entry in lowest) + ".",
        f"Most alike over all batches: {', '.join(f'{a} and {b}' for a, b in summary['closest_heads'])}.",
    ]
    tau = summary["mean_kendall_tau"]
    if tau is None:
        return lines
    if tau < _AGREES:
        return [
            *lines,
            f"The ranking does not agree between batches (Kendall tau {tau:.2f}): it depends on the input "
            "more than on the head. More batches may tell.",
        ]
    return [
        *lines,
        f"The ranking agrees between batches with Kendall tau {tau:.2f}; the top 10 % overlap by "
        f"{summary['mean_top_jaccard']:.2f}, the bottom 10 % by {summary['mean_bottom_jaccard']:.2f}.",
        f"In the top 10 % of every batch: {', '.join(summary['always_in_top']) or 'no head'}; "
        f"in the bottom 10 %: {', '.join(summary['always_in_bottom']) or 'no head'}.",
    ]
