"""haarbor collapse: how nearly the tokens of a network become the same with depth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._capture_options import DeviceOption, GgufOption, LinesOption, OptionalDataOption
from haarbor.cli._model_argument import ModelArgument
from haarbor.cli._result_options import EveryNumberOption, FolderOption, KeptRunOption

if TYPE_CHECKING:
    pass

__all__ = ["collapse"]

_TOKENS = 256


def collapse(
    model: ModelArgument,
    data: OptionalDataOption = None,
    run: KeptRunOption = None,
    out: FolderOption = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help=f"Tokens per text; {_TOKENS} if not given, or as many as the model has places for.",
        ),
    ] = None,
    batches: Annotated[int, typer.Option(metavar="N", min=1, help="Number of texts or images.")] = 8,
    initial: Annotated[bool, typer.Option(help="Measure the network as it was before training, too.")] = True,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**63 - 1, help="Seed of the weights before training.")
    ] = 0,
    dtype: Annotated[
        str,
        typer.Option(
            metavar="float32|float64",
            help="Precision of the network; float64 follows the residual down to 1e-15, and takes longer.",
        ),
    ] = "float32",
    paths: Annotated[
        bool,
        typer.Option(
            "--paths",
            help="Take the output for the first text or image apart into paths through heads and skips, too.",
        ),
    ] = False,
    lines: LinesOption = False,
    gguf: GgufOption = None,
    device: DeviceOption = "cpu",
    as_json: EveryNumberOption = False,
) -> None:
    """Measure how nearly all tokens become the same with depth.

    After every layer: the residual of the tokens against the nearest matrix with equal rows, their stable
    and effective rank and mean cosine; for the network as it is, and without its skip connections, its
    MLPs, both, its normalisation, or all of these. Beside attention alone stands the bound of the theorem
    of rank collapse, where it is proved for the network.

    Example: haarbor collapse zoo:vision-transformer -o collapse
    """
    from haarbor.cli._capture_paths import require_data, require_model
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._collapse_answer import (
        collapse_numbers,
        path_numbers,
        print_collapse,
        print_paths,
        write_collapse,
        write_paths,
    )
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._libraries import require_library
    from haarbor.cli._measured_samples import measured_samples
    from haarbor.cli._output_place import require_folder_place
    from haarbor.cli._progress import shown_steps
    from haarbor.cli._run_checks import require_writable
    from haarbor.cli._run_of_model import require_run_of
    from haarbor.cli._said_line import say
    from haarbor.cli._told_lines import tell_lines
    from haarbor.store import open_run

    precision = checked_choice("--dtype", dtype, ("float32", "float64"))
    require_model(model)
    if data is not None:
        require_data(data)
    if out is not None:
        require_folder_place("--out", Path(out))
        require_library("matplotlib", user="a figure", extra="report")
    opened = None if run is None else open_run(run)
    if opened is not None:
        require_writable(opened)
    say(f"Loading {model} ...")
    from haarbor.capturing import load_model
    from haarbor.collapse import (
        NetworkBound,
        RankCollapse,
        initialised,
        keep_collapse,
        keep_paths,
        network_bound,
        rank_collapse,
    )

    loaded = load_model(model, gguf_file=gguf, device=device, dtype=precision)
    for note in loaded.notes:
        say(note)
    samples = measured_samples(
        loaded,
        data,
        n_tokens=tokens,
        usual_tokens=_TOKENS,
        n_samples=batches,
        lines=lines,
        function="rank_collapse",
    )
    weights = None if opened is None else require_run_of(opened, loaded.model, samples)
    networks: dict[str, Any] = {"trained": loaded.model}
    if initial:
        networks["at initialisation"] = initialised(loaded.model, seed=seed)
    results: dict[str, RankCollapse] = {}
    bounds: dict[str, NetworkBound] = {}
    taken = None
    with shown_steps() as advance:

        def told(name: str) -> Any:
            return lambda _step, done, total: advance(f"measuring, {name}", done, total)

        for name, network in networks.items():
            results[name] = rank_collapse(network, samples, like=loaded.model, on_progress=told(name))
            bounds[name] = network_bound(network, next(iter(samples)), like=loaded.model)
        if paths:
            from haarbor.collapse import network_paths

            taken = network_paths(loaded.model, next(iter(samples)), on_progress=advance)
    if opened is not None:
        keep_collapse(opened, results, bounds=bounds, data=samples.description, weights=weights)
        if taken is not None:
            keep_paths(opened, taken, weights=weights)
    written = [] if out is None else write_collapse(results, bounds, loaded.name, Path(out))
    if taken is not None and out is not None:
        written += write_paths(taken, loaded.name, Path(out))
    if as_json:
        answer = {
            "model": loaded.name,
            "data": samples.description,
            "results": collapse_numbers(results, bounds),
        }
        by_path = {} if taken is None else {"paths": path_numbers(taken)}
        echo_json({**answer, **by_path, "files": [str(path) for path in written]})
    else:
        print_collapse(results, bounds, loaded.name, samples.description)
        if taken is not None:
            print_paths(taken)
        tell_lines([f"  {path}" for path in written])
