"""haarbor diagnose: what each head does, measured on the network itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._capture_options import DeviceOption, GgufOption, LinesOption, OptionalDataOption
from haarbor.cli._model_argument import ModelArgument
from haarbor.cli._result_options import EveryNumberOption, FolderOption, KeptRunOption

if TYPE_CHECKING:
    from haarbor.analysis import ResultTable
    from haarbor.diagnostics import ModelDiagnostics

__all__ = ["diagnose"]

_TOKENS = 128
_SHOWN = {
    "induction": "Induction (looks behind the last occurrence of the token)",
    "duplicate_token": "Duplicate token (looks at its last occurrence)",
    "previous_repeated": "Previous token",
    "ov_positive": "Copying (positive share of OV)",
    "relative_output": "Output relative to the tokens",
}
_N_SHOWN = 5


def diagnose(
    model: ModelArgument,
    data: OptionalDataOption = None,
    run: KeptRunOption = None,
    out: FolderOption = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=4,
            help=f"Tokens per text; {_TOKENS} if not given, or as many as the model has places for.",
        ),
    ] = None,
    batches: Annotated[int, typer.Option(metavar="N", min=1, help="Number of texts or images.")] = 4,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**63 - 1, help="Seed of the random tokens.")
    ] = 0,
    lines: LinesOption = False,
    gguf: GgufOption = None,
    device: DeviceOption = "cpu",
    as_json: EveryNumberOption = False,
) -> None:
    """Measure what needs the network itself.

    On random tokens that repeat: induction, duplicate and previous tokens. From the weights: spectra of the
    query-key and output-value matrices, composition of heads. On texts or images: how much each head writes,
    and of every layer the largest entries of the tokens and how alike tokens are.

    Example: haarbor diagnose zoo:transformer-xl --run run.zarr
    """
    from haarbor.cli._capture_paths import require_data, require_model
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._measured_samples import measured_samples
    from haarbor.cli._output_place import require_folder_place
    from haarbor.cli._progress import shown_steps
    from haarbor.cli._run_checks import require_writable
    from haarbor.cli._run_of_model import require_run_of
    from haarbor.cli._said_line import say
    from haarbor.store import open_run

    require_model(model)
    if data is not None:
        require_data(data)
    if out is not None:
        require_folder_place("--out", Path(out))
    opened = None if run is None else open_run(run)
    if opened is not None:
        require_writable(opened)
    say(f"Loading {model} ...")
    from haarbor.capturing import load_model
    from haarbor.capturing.inputs import TokenInputs
    from haarbor.diagnostics import head_diagnostics, keep_model_diagnostics

    loaded = load_model(model, gguf_file=gguf, device=device, dtype="float32")
    for note in loaded.notes:
        say(note)
    samples = measured_samples(
        loaded,
        data,
        n_tokens=tokens,
        usual_tokens=_TOKENS,
        n_samples=batches,
        lines=lines,
        function="head_diagnostics",
    )
    weights = None if opened is None else require_run_of(opened, loaded.model, samples)
    takes = loaded.takes
    vocabulary = None
    if isinstance(takes, TokenInputs):
        vocabulary = [number for number in range(takes.vocab_size) if number not in takes.reserved_ids]
    with shown_steps() as advance:
        found = head_diagnostics(loaded.model, samples, vocabulary=vocabulary, seed=seed, on_progress=advance)
    if opened is not None:
        keep_model_diagnostics(opened, found, weights=weights)
    written = [] if out is None else _written(found, loaded.name, Path(out))
    if as_json:
        echo_json(_answer(found, loaded.name, samples.description, written))
    else:
        _print(found, loaded.name, samples.description, written)


def _tables(found: ModelDiagnostics, model: str) -> tuple[ResultTable, ResultTable]:
    """Table of the heads, and table of the depths."""
    from haarbor.analysis import ResultTable

    labels = _labels(found)
    heads = ResultTable(
        name="head_diagnostics",
        title=f"Heads of {model}",
        columns=("head", "layer", *found.figures),
        rows=tuple(
            (label, int(found.layers[head]), *(float(values[head]) for values in found.figures.values()))
            for head, label in enumerate(labels)
        ),
        caption="",
    )
    n_depths = len(next(iter(found.states.values()))) if found.states else 0
    layers = ResultTable(
        name="layer_diagnostics",
        title=f"Tokens of {model} by depth",
        columns=("layers_passed", *found.states),
        rows=tuple(
            (
                depth,
                *(float(sorted(values[depth])[len(values[depth]) // 2]) for values in found.states.values()),
            )
            for depth in range(n_depths)
        ),
        caption="Medians over the samples.",
    )
    return heads, layers


def _labels(found: ModelDiagnostics) -> list[str]:
    from haarbor.head_labels import head_label

    first = {int(layer): head for head, layer in reversed(list(enumerate(found.layers)))}
    return [head_label(int(layer), head - first[int(layer)]) for head, layer in enumerate(found.layers)]


def _answer(found: ModelDiagnostics, model: str, data: str, written: list[Path]) -> dict[str, Any]:
    return {
        "model": model,
        "data": data,
        "period": found.period,
        "heads": _labels(found),
        "figures": {name: values.tolist() for name, values in found.figures.items()},
        "states": {name: values.tolist() for name, values in found.states.items()},
        "massive_activations_after_layers": found.massive_layers().tolist(),
        "files": [str(path) for path in written],
    }


def _written(found: ModelDiagnostics, model: str, folder: Path) -> list[Path]:
    from haarbor.store import save_results_file
    from haarbor.whole_file import whole_file

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in _tables(found, model):
        place = folder / f"{table.name}.csv"
        with whole_file(place, "the table") as unfinished:
            unfinished.write_text(table.csv_text(), encoding="utf-8", newline="\n")
        written.append(place)
    return [*written, save_results_file({"diagnostics": found}, folder / "head_diagnostics.npz")]


def _print(found: ModelDiagnostics, model: str, data: str, written: list[Path]) -> None:
    import numpy as np

    from haarbor.cli._told_lines import tell_lines

    labels = _labels(found)
    lines = [f"{model}: {found.n_heads} heads ({data}; heads are written layer.head)."]
    for name, words in _SHOWN.items():
        values = found.figures[name]
        known = np.flatnonzero(np.isfinite(values))
        if known.size:
            best = known[np.argsort(-values[known], kind="stable")][:_N_SHOWN]
            lines.append(f"{words}: {', '.join(f'{labels[i]} ({values[i]:.2f})' for i in best)}.")
    for kind in ("query", "key", "value"):
        scores = found.composition[kind]
        if np.isfinite(scores).any():
            later, earlier = np.unravel_index(int(np.nanargmax(scores)), scores.shape)
            lines.append(
                f"Strongest composition by its {kind}: {labels[later]} reads {labels[earlier]} "
                f"({scores[later, earlier]:.2f})."
            )
    massive = found.massive_layers().tolist()
    if massive:
        token, channel = (int(found.states[name][massive[0], 0]) for name in ("token", "channel"))
        lines.append(
            f"Massive activations after {', '.join(map(str, massive))} layers, first at token {token}, "
            f"channel {channel} ({found.states['largest'][massive[0], 0]:.0f})."
        )
    elif found.states:
        lines.append("No massive activations (above 100, and 1000 times the median entry).")
    if found.states:
        cosine = np.nanmean(found.states["cosine"], axis=1)
        lines.append(
            f"Mean cosine of two tokens: {cosine[0]:.2f} before the first layer, {cosine[-1]:.2f} at the end."
        )
    tell_lines([*lines, *(f"  {path}" for path in written)])
