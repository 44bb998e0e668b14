"""haarbor organize: compute trees, embeddings and entropies of every batch of a run, or of an array."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._named import named
from haarbor.cli._part_options import ContentOption, StreamOption
from haarbor.cli._told_lines import tell_lines
from haarbor.errors import SettingError

if TYPE_CHECKING:
    from haarbor.questionnaire import Organization

__all__ = ["organize"]

_ENGINES = ("auto", "cpu", "gpu", "cluster")


def organize(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="Folder or URL of a run; or an array file, .npy, .npz or .safetensors.",
            callback=named,
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Folder for tables of trees, orders and maps (CSV and .npz); made if missing. Of an array, "
            "also for the run that is made of it; NAME-organized if not given.",
            callback=named,
        ),
    ] = None,
    content: ContentOption = None,
    stream: StreamOption = None,
    tree: Annotated[
        str,
        typer.Option(
            metavar="flexible|binary|haar",
            help="Builder of the trees: flexible, binary, or haar, which lowers one objective.",
        ),
    ] = "flexible",
    iterations: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1000,
            help="Iterations at most; by default 3, with --tree haar as many as help.",
        ),
    ] = None,
    refine: Annotated[
        str,
        typer.Option(
            metavar="latest|published",
            help="Which trees a step uses: latest, or published as in the paper's program.",
        ),
    ] = "latest",
    initial: Annotated[
        str, typer.Option(metavar="cosine|gaussian", help="First affinity: cosine or gaussian.")
    ] = "cosine",
    array: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Which array of a .npz or .safetensors file, if several.", callback=named
        ),
    ] = None,
    axes: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Axes of an array in its order, such as layer,head,query,key; found by their lengths if not "
            "given. With query and key a run is made of it.",
            callback=named,
        ),
    ] = None,
    heads_per_layer: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Heads of a layer, where the head axis of an array is of all layers."
        ),
    ] = None,
    causal: Annotated[
        bool, typer.Option("--causal", help="In an array, a query does not see later keys.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory to take at the most, such as 2GB; a batch that does not fit is read in blocks.",
            callback=named,
        ),
    ] = None,
    approximate: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="Estimate distances from N folders drawn at random, for very many tokens; tells the error.",
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="auto|cpu|gpu|cluster",
            help="What computes: the GPU (with CuPy), the cores, the workers of a Dask cluster, or by "
            "default the GPU where that pays.",
        ),
    ] = "auto",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --engine cluster, the address of a Dask scheduler, such as tcp://host:8786; without "
            "it, workers are started on this machine.",
            callback=named,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Organise a run or an array, and score its heads.

    Results are kept in the run; a command that was interrupted goes on where it stopped.

    Example: haarbor organize run.zarr

    An array: haarbor organize attention.npy --axes head,query,key -o organized
    """
    from haarbor.cli._array_file import is_array_file
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._organized_array import require_no_array_options
    from haarbor.cli._output_place import require_folder_place

    options: dict[str, Any] = {
        "n_iterations": iterations,
        "tree": checked_choice("--tree", tree, ("flexible", "binary", "haar")),
        "refine": checked_choice("--refine", refine, ("latest", "published")),
        "initial": checked_choice("--initial", initial, ("cosine", "gaussian")),
        "approximate": approximate,
    }
    options["engine"] = _engine(checked_choice("--engine", engine, _ENGINES), scheduler)
    of_array = {"--array": array, "--axes": axes, "--heads-per-layer": heads_per_layer, "--causal": causal}
    if not is_array_file(run):
        require_no_array_options(of_array)
        folder = None if out is None else Path(out)
        if folder is not None:
            require_folder_place("--out", folder)
        _organize_run(run, folder, content, stream, options, as_json, memory=memory)
        return
    if stream is not None:
        raise SettingError("--stream must go with a run; RUN is an array file. Leave it out.")
    folder = Path(f"{Path(run).stem}-organized" if out is None else out)
    require_folder_place("--out", folder)
    _organize_array(run, folder, content, of_array, options, as_json, memory)


def _engine(name: str, scheduler: str | None) -> Any:
    from haarbor.engines import ClusterEngine

    if name == "cluster":
        return ClusterEngine(scheduler)
    if scheduler is not None:
        raise SettingError(f"--scheduler must go with --engine cluster; found --engine {name}. Add that.")
    return name


def _organize_run(
    place: str,
    folder: Path | None,
    content: str | None,
    stream: str | None,
    options: dict[str, Any],
    as_json: bool,
    more: tuple[str, ...] = (),
    memory: str | None = None,
) -> None:
    from haarbor.analysis import asked_part, organize_run
    from haarbor.cli._diagnosed import diagnose
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._organize_summary import organize_summary, summary_lines
    from haarbor.cli._organized_array import write_run_tables, write_scores
    from haarbor.cli._progress import shown_progress
    from haarbor.cli._run_checks import require_batches, require_writable
    from haarbor.cli._said_line import say
    from haarbor.engines import ClusterEngine, CpuEngine, engine_text
    from haarbor.store import open_run

    opened = open_run(place)
    part = asked_part(opened, content, stream)
    require_batches(opened)
    require_writable(opened)
    sizes = opened.plan.stream(part.stream)
    n_heads = sizes.n_layers * sizes.n_heads
    say(
        f"Organising {n_heads} head{'' if n_heads == 1 else 's'}, {sizes.n_queries} x {sizes.n_keys}"
        f"{f' blocks of {sizes.pool} tokens' if sizes.pool > 1 else ''}, "
        f"{opened.n_batches} batch{'' if opened.n_batches == 1 else 'es'} ..."
    )
    on_cluster = isinstance(options["engine"], ClusterEngine)
    if on_cluster:
        say(f"Engine: {engine_text(options['engine'])}.")
    with shown_progress("organising", opened.n_batches) as advance:
        found = organize_run(
            part,
            options=options,
            on_progress=advance,
            memory=memory,
            on_plan=lambda plan: say(f"Plan: {plan}."),
        )
    diagnose(part)
    summary = organize_summary(opened, found)
    last = part.load_result("organization", batch=part.batches[-1])
    summary["engine"] = last.settings.engine
    summary["approximate"] = last.settings.approximate
    summary["approximation_error"] = last.approximation_error
    _tell_approximation(last)
    if not on_cluster:
        # Told afterwards, because "auto" chooses for each batch by its size.
        say(f"Engine: {engine_text(CpuEngine()) if summary['engine'] == 'cpu' else summary['engine']}.")
    if found.n_reused == opened.n_batches:
        say("Every batch had been organised so before; nothing was computed again.")
    written = []
    if folder is not None:
        written = write_run_tables(opened, folder, part.content, part.stream)
        scores = write_scores(part, folder)
        summary["files"] = [str(path) for path in (scores, *written)]
    if as_json:
        echo_json(summary)
        return
    lines = summary_lines(opened, summary)
    if written:
        about = f"  scores  {scores.name} in {folder}  (every score and the type of every head)"
        lines += ["", about, *_places(folder, written)]
    tell_lines([*lines, *more])


def _organize_array(
    place: str,
    folder: Path,
    content: str | None,
    of_array: dict[str, Any],
    options: dict[str, Any],
    as_json: bool,
    memory: str | None,
) -> None:
    from haarbor.cli._array_file import ArrayFile
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._organization_files import write_organization
    from haarbor.cli._organized_array import array_lines, imported_run, organized_tensor
    from haarbor.cli._said_line import say

    if content is not None:
        checked_choice("--content", content, ("probabilities", "logits"))
    read = ArrayFile.read(place, of_array["--array"], of_array["--axes"])
    advice = "; --axes names the axes otherwise" if read.guessed else ""
    say(f"{read.path.name}: {read.what}{advice}.")
    if read.is_attention:
        kept = folder / "run.zarr"
        run = imported_run(
            read,
            kept,
            content=content,
            heads_per_layer=of_array["--heads-per-layer"],
            causal=of_array["--causal"],
        )
        next_steps = (
            f"  run     {kept}  (for every other command)",
            "",
            f"Next: haarbor report {kept} -o report.html",
        )
        _organize_run(
            str(kept), folder, run.plan.content(content), None, options, as_json, next_steps, memory
        )
        return
    wrong = [
        option
        for option, given in (
            ("--content", content),
            ("--memory", memory),
            ("--heads-per-layer", of_array["--heads-per-layer"]),
            ("--causal", of_array["--causal"]),
        )
        if given
    ]
    if wrong:
        raise SettingError(
            f"{' and '.join(wrong)} must go with attention; the axes are {', '.join(read.axes)}, without "
            f"query and key. Leave {'it' if len(wrong) == 1 else 'them'} out, or name the axes with --axes."
        )
    say("Organising ...")
    found = organized_tensor(read, options)
    if found.settings.engine == "gpu":
        say("Computed on the GPU.")
    _tell_approximation(found)
    written = write_organization(folder, found)
    if as_json:
        trees = {
            axis: {
                "items": tree.n_items,
                "levels": tree.n_levels,
                "top_groups": len(tree.folders(min(1, tree.n_levels - 1))),
            }
            for axis, tree in found.trees.items()
        }
        echo_json({
            "array": str(read.path), "shape": list(read.shape), "axes": list(read.axes), "trees": trees,
            "iterations": found.n_iterations, "period": found.period, "engine": found.settings.engine,
            "files": [str(path) for path in written],
        })  # fmt: skip
        return
    tell_lines([*array_lines(read, found), "", *_places(folder, written)])


def _tell_approximation(found: Organization) -> None:
    from haarbor.cli._said_line import say

    if found.settings.approximate is not None:
        say(
            f"Approximate: distances from {found.settings.approximate} folders drawn at random; their "
            f"standard error is at most about {100 * (found.approximation_error or 0):.2g} %."
        )


def _places(folder: Path | None, written: list[Path]) -> list[str]:
    names = list(dict.fromkeys(path.name for path in written))
    several = len(written) > len(names)
    inside = f" for each batch in {folder}" if several else f" in {folder}"
    return [
        f"  tables  {', '.join(names[:-1])}{inside}  (in the order of the trees)",
        f"  arrays  {names[-1]}, the same with the affinities  (numpy.load reads it)",
    ]
