"""haarbor organize: compute trees, embeddings and entropies of every batch of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from haarbor.cli._named import named
from haarbor.cli._part_options import ContentOption, StreamOption
from haarbor.head_labels import head_labels

if TYPE_CHECKING:
    from haarbor.analysis import RunAnalysis
    from haarbor.store import Run

__all__ = ["organize"]


def organize(
    run: Annotated[str, typer.Argument(help="Folder or URL of a run.", callback=named)],
    content: ContentOption = None,
    stream: StreamOption = None,
    tree: Annotated[
        str,
        typer.Option(help="Builder of the trees: flexible, binary, or haar, which lowers one objective."),
    ] = "flexible",
    iterations: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, help="Iterations at most; by default 3, with --tree haar as many as help."
        ),
    ] = None,
    refine: Annotated[
        str, typer.Option(help="Which trees a step uses: latest, or published as in the paper's program.")
    ] = "latest",
    initial: Annotated[str, typer.Option(help="First affinity: cosine or gaussian.")] = "cosine",
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Organise every batch of a run, score its heads, and say what was found.

    Results are kept in the run; a command that was interrupted goes on where it stopped.
    """
    from haarbor.analysis import asked_part, organize_run
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._progress import shown_progress
    from haarbor.cli._run_checks import require_batches, require_writable
    from haarbor.store import open_run

    options = {
        "n_iterations": iterations,
        "tree": checked_choice("--tree", tree, ("flexible", "binary", "haar")),
        "refine": checked_choice("--refine", refine, ("latest", "published")),
        "initial": checked_choice("--initial", initial, ("cosine", "gaussian")),
    }
    opened = open_run(run)
    part = asked_part(opened, content, stream)
    require_batches(opened)
    require_writable(opened)
    with shown_progress("organising", opened.n_batches) as advance:
        found = organize_run(part, options=options, on_progress=advance)
    summary = _summary(opened, found)
    if as_json:
        echo_json(summary)
    else:
        _print(summary)


def _summary(run: Run, found: RunAnalysis) -> dict[str, Any]:
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
        "content": found.content,
        "tree": found.tree,
        "n_heads": int(raw.size),
        "n_batches": len(found.batches),
        "batches_reused": found.n_reused,
        "results_remade": list(found.remade),
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
    }


def _closest_heads(distances: Any, most: int = 5) -> list[tuple[int, int]]:
    rows, columns = np.triu_indices(distances.shape[0], 1)
    nearest = np.argsort(distances[rows, columns], kind="stable")[:most]
    return [(int(rows[i]), int(columns[i])) for i in nearest]


def _print(summary: dict[str, Any]) -> None:
    from haarbor.printable import printable

    highest, lowest = summary["highest_entropy"], summary["lowest_entropy"]
    lines = [
        f"{summary['model']}: {summary['n_heads']} heads on {summary['n_batches']} batches "
        f"({summary['content']}, stream {summary['stream']}; heads are written layer.head).",
        "Most coarse structure (highest Haar entropy): "
        + ", ".join(f"{entry['head']} ({entry['entropy']:.1f})" for entry in highest)
        + ".",
        "Least: " + ", ".join(f"{entry['head']} ({entry['entropy']:.1f})" for entry in lowest) + ".",
    ]
    if summary["closest_heads"]:
        pairs = ", ".join(f"{a} and {b}" for a, b in summary["closest_heads"])
        lines.append(f"Most alike over all batches: {pairs}.")
    if summary["mean_kendall_tau"] is not None:
        lines.append(
            f"The ranking agrees between batches with Kendall tau {summary['mean_kendall_tau']:.2f}; the top "
            f"10 % overlap by {summary['mean_top_jaccard']:.2f}, the bottom 10 % by "
            f"{summary['mean_bottom_jaccard']:.2f}."
        )
        lines.append(
            f"In the top 10 % of every batch: {', '.join(summary['always_in_top']) or 'no head'}; "
            f"in the bottom 10 %: {', '.join(summary['always_in_bottom']) or 'no head'}."
        )
        lines.append(
            "One head tree was made of all batches; the batches' own trees lie "
            f"{summary['mean_distance_to_consensus']:.2f} from it on average (0: the same, 1: the farthest)."
        )
    lines.append(
        f"Network entropy {summary['network_entropy']:.2f}, normalised "
        f"{summary['network_entropy_normalised']:.3f}."
    )
    typer.echo("\n".join(map(printable, lines)))
