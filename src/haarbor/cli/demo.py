"""haarbor demo: the main job on a network the package makes up, with tables and figures."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from haarbor.errors import SettingError

if TYPE_CHECKING:
    from haarbor.cli.demo_results import DemoResults

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="Folder for figures and tables; made if missing.")] = Path(
        "demo-output"
    ),
    tokens: Annotated[int, typer.Option(min=2, help="Tokens a batch.")] = 128,
    layers: Annotated[int, typer.Option(min=1, help="Layers of the made-up network.")] = 6,
    heads: Annotated[int, typer.Option(min=1, help="Heads a layer.")] = 8,
    batches: Annotated[int, typer.Option(min=1, help="Batches of made-up text.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Another seed makes another network.")] = 0,
    figures: Annotated[bool, typer.Option(help="Draw the figures (needs matplotlib).")] = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON instead of tables.")
    ] = False,
) -> None:
    """Organise the attention of a made-up network, score its heads and draw the result.

    The network has heads of known kinds (previous token, local, topic, induction, first-token sink,
    broad), so you can see whether the tree finds them. Nothing is downloaded.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"--out must be a folder that can be written; {error}.") from None
    from haarbor.cli.demo_results import demo_results

    begin = time.perf_counter()
    results = demo_results(tokens, layers, heads, batches, seed)
    seconds = time.perf_counter() - begin
    written = results.write_tables(out)
    if figures:
        from haarbor.cli.demo_figures import write_figures

        written += write_figures(results, out)
    if as_json:
        typer.echo(json.dumps({**results.summary(), "files": [str(path) for path in written]}, indent=2))
    else:
        _print(results, seconds, written)


def _print(results: DemoResults, seconds: float, written: list[Path]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    summary = results.summary()
    n_tokens, _, n_heads = results.shape
    console.print(
        f"\n[bold]A made-up causal network[/bold]: {n_heads} heads, {len(results.entropies)} batches of "
        f"{n_tokens} tokens. Organised and scored in {seconds:.1f} s.\n"
    )
    groups = Table(
        title="Folders of the head tree (batch 0): are heads of one kind together?", title_justify="left"
    )
    groups.add_column("heads", justify="right")
    groups.add_column("kinds")
    groups.add_column("layer.head", overflow="fold")
    for folder in results.head_folders():
        groups.add_row(str(len(folder.heads)), folder.kinds, folder.labels)
    console.print(groups)
    ranking = Table(
        title="Heads by Haar entropy H400, mean over batches",
        caption="± ties: what another order of tied functions could change; finer: share of the "
        "l1 norm at finer scales; top, bottom: batches that rank the head in their 10 %.",
        title_justify="left",
        caption_justify="left",
    )
    for name in ("head", "kind"):
        ranking.add_column(name)
    for name in ("H400", "± ties", "H400/norm", "finer", "top", "bottom"):
        ranking.add_column(name, justify="right")
    for row in results.ranking_rows():
        ranking.add_row(*row)
    console.print(ranking)
    console.print(
        f"Coherence (l1 of the tri-Haar expansion, lower is better): [bold]{summary['coherence']:.1f}[/bold] "
        f"on the trees found, {summary['coherence_shuffled_trees']:.1f} on them with the items shuffled."
    )
    if len(results.entropies) > 1:
        console.print(
            f"Stability over batches: Kendall tau {summary['mean_kendall_tau']:.2f}, overlap of the top 10 % "
            f"{summary['mean_top_jaccard']:.2f}, of the bottom 10 % {summary['mean_bottom_jaccard']:.2f}."
        )
    console.print(
        f"Network entropy H100: {summary['network_entropy']:.2f} (normalised "
        f"{summary['network_entropy_normalised']:.3f}).\n"
    )
    console.print(f"Written to [bold]{written[0].parent}[/bold]:")
    for path in written:
        console.print(f"  {path.name}", highlight=False)
