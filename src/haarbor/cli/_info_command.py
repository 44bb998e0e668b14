"""haarbor info: tell what a run holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._diagnosed import types_line
from haarbor.cli._named import named
from haarbor.cli._size_text import size_text

if TYPE_CHECKING:
    from haarbor.store import Run

__all__ = ["info"]

# Below this, what comes with the numbers takes as much as compression saves.
_SMALLER = 1.05


def info(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Folder or URL of a run.", callback=named)],
    verify: Annotated[bool, typer.Option(help="Read everything and check it against its checksums.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Tell what a run holds, and whether it is whole.

    Example: haarbor info run.zarr --verify
    """
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._said_line import say
    from haarbor.store import open_run

    opened = open_run(run)
    plan = opened.plan
    if verify:
        say("Reading all of it ...")
    damages = opened.verify() if verify else ()
    found: dict[str, Any] = {
        "model": opened.model,
        "config_digest": plan.config_digest,
        "contents": list(opened.contents),
        "keeps": plan.keeps,
        "dtype": plan.dtype,
        "streams": [
            {
                "name": s.name,
                "layers": s.n_layers,
                "heads": s.n_heads,
                "queries": s.n_queries,
                "keys": s.n_keys,
                "pool": s.pool,
                "query_tokens": s.n_tokens[0],
                "key_tokens": s.n_tokens[1],
            }
            for s in plan.streams
        ],
        "heads": sum(s.n_layers * s.n_heads for s in plan.streams),
        "decoder_reads": _decoder_reads(plan.settings),
        "batches_complete": opened.n_batches,
        "batches_planned": plan.n_batches,
        "labels": plan.labels,
        "bytes_on_disk": opened.size_on_disk(),
        "bytes_uncompressed": opened.n_batches * plan.n_bytes_per_batch,
        "settings": dict(plan.settings),
        "library_versions": dict(plan.library_versions),
        "head_types": _head_types(opened),
        "results": sorted({result.name for result in opened.results()}),
        "compared": _told_results(opened, "comparison", "training-film"),
        "collapse": _told_results(opened, "rank-collapse"),
        "pruned": _told_results(opened, "pruning"),
        "verified": verify,
        "damaged": [str(damage) for damage in damages],
    }
    if as_json:
        echo_json(found)
    else:
        _print(found)
    if damages:
        raise typer.Exit(1)


def _head_types(run: Run) -> dict[str, dict[str, list[str]]]:
    """Heads of each type in each stream, where the run has diagnostics that are whole."""
    from haarbor.cli._diagnosed import types_of
    from haarbor.errors import StoreError

    found = {}
    for stream in run.streams:
        try:
            types = types_of(run.part(None, stream))
        except StoreError:
            # What is damaged is told by --verify; info tells what can be read.
            types = {}
        if types:
            found[stream] = types
    return found


def _told_results(run: Run, *kinds: str) -> list[str]:
    """What results of these names in the run say, in their first sentence."""
    names = [result for result in run.results() if result.name in kinds]
    told = []
    for result in names:
        kept = run.kept_result(result.name, content=result.content, stream=result.stream)
        # A damaged one is told by --verify, and by the command that needs it.
        if kept.state == "whole":
            told += list(kept.value.verdict())[:1]
    return told


def _decoder_reads(settings: Mapping[str, Any]) -> str | None:
    """What the decoder beside an encoder was fed, where the run says it."""
    target = settings.get("target")
    return target if isinstance(target, str) else None


def _on_disk(n_bytes: int, uncompressed: int) -> str:
    ratio = uncompressed / max(1, n_bytes)
    if ratio >= _SMALLER:
        return f"{size_text(n_bytes)} (compressed {ratio:.1f} times)"
    return f"{size_text(n_bytes)}, results and descriptions included ({size_text(uncompressed)} of attention)"


def _print(found: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from haarbor.cli._terminal import terminal
    from haarbor.printable import printable

    table = Table(show_header=False, box=None)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")

    def row(name: str, value: str) -> None:
        # Names and settings come from files: they must not control the terminal or the layout.
        table.add_row(Text(printable(name)), Text(printable(value)))

    row("model", f"{found['model']}  ({str(found['config_digest'])[:19]})")
    if len(found["streams"]) > 1:
        row("heads", f"{found['heads']} in {len(found['streams'])} streams")
    for s in found["streams"]:
        blocks = f" means over blocks of {s['pool']} x {s['pool']} tokens" if s["pool"] > 1 else ""
        sizes = f"{s['queries']} x {s['keys']}{blocks}"
        if blocks:
            sizes += f" ({s['query_tokens']} x {s['key_tokens']} tokens)"
        row(f"stream {s['name']}", f"{s['layers']} layers x {s['heads']} heads, {sizes}")
    if found["keeps"] == "results":
        row("content", f"results of {', '.join(found['contents'])}; the attention itself was not kept")
    else:
        row("content", f"{', '.join(found['contents'])} as {found['dtype']}")
    planned = "" if found["batches_planned"] is None else f" of {found['batches_planned']}"
    row("batches", f"{found['batches_complete']}{planned} complete")
    if found["keeps"] == "results":
        row("on disk", size_text(found["bytes_on_disk"]))
    else:
        row("on disk", _on_disk(found["bytes_on_disk"], found["bytes_uncompressed"]))
    if found["decoder_reads"] is not None:
        row("decoder", f"reads {found['decoder_reads']}")
    row("settings", ", ".join(f"{name}={value}" for name, value in found["settings"].items()))
    row("made with", ", ".join(f"{name} {value}" for name, value in found["library_versions"].items()))
    for stream, types in found["head_types"].items():
        which = f" of {stream}" if len(found["streams"]) > 1 else ""
        row(f"head types{which}", types_line(types))
    row("results", ", ".join(found["results"]) or "none yet; next: haarbor organize RUN")
    for name in ("compared", "collapse", "pruned"):
        for place, sentence in enumerate(found[name]):
            row("" if place else name, sentence)
    if found["verified"]:
        row("integrity", "whole" if not found["damaged"] else f"{len(found['damaged'])} damaged parts")
        for damage in found["damaged"]:
            row("", damage)
    terminal().print(table)
