"""haarbor prune: find which heads of a model can be removed, and write the model without them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._capture_options import DeviceOption, GgufOption, LinesOption
from haarbor.cli._model_argument import ModelArgument
from haarbor.cli._result_options import KeptRunOption
from haarbor.printable import printable

if TYPE_CHECKING:
    from rich.table import Table

    from haarbor.cli._pruned_files import PrunedFiles
    from haarbor.pruning import PruningStudy

__all__ = ["prune"]

_DEFAULT_SCORES = "leftover-fisher,leftover-taylor,gradient,h400,random"
"""The two of ours that do best for what they cost, the usual one, the paper's, and chance."""
_THOROUGH_SCORES = (
    "leftover,leftover-share,leftover-layer,leftover-answers,leftover-response,leftover-fisher,leftover-taylor,"
    "gradient,fisher-mask,osscar,slimgpt,flap,wanda-sp,layer-drop,random"
)
"""Ours that do well, and those of others."""
_THOROUGH_ANSWERS = 4096
_TEXTS, _FEW_TEXTS = 64, 16
"""To calibrate on: 16,384 tokens and 4,096. With few, a refit of wide layers does much more damage."""
_N_ORGANIZED, _N_ORGANIZED_QUICKLY = 16, 6
"""Samples whose attention is organised for scores that need it."""


def prune(
    model: ModelArgument,
    data: Annotated[
        str,
        typer.Option(
            metavar="DATA",
            help="Text file, .npy of token ids, .npz or folder of images, hub:DATASET, or "
            "'zoo' (in the package).",
        ),
    ],
    budget: Annotated[
        float, typer.Option(metavar="SHARE", min=0.01, max=0.95, help="Share of the heads to remove.")
    ] = 0.3,
    scores: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Scores to compare, separated by commas; 'all' for every one. 'searched' beside others "
            "begins from what they choose and exchanges heads while it helps; slower. If not given: "
            f"{_DEFAULT_SCORES.replace(',', ', ')}.",
            show_default=False,
        ),
    ] = "",
    compensate: Annotated[
        bool,
        typer.Option(help="Refit what is left of each layer by least squares, or replace heads by zero."),
    ] = True,
    within_layer: Annotated[
        bool, typer.Option("--within-layer", help="Remove the same share of every layer.")
    ] = False,
    uniform: Annotated[
        bool,
        typer.Option(
            "--uniform",
            help="Leave all layers alike, and write a checkpoint that transformers loads without Haarbor.",
        ),
    ] = False,
    calibration: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="Samples to score and refit with; by default 64 texts, or 16 with --quick or where the data "
            "hold no more, or 48 images.",
        ),
    ] = None,
    evaluation: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=4,
            help="Samples to measure with; by default 16 texts or 96 images, with --thorough twice as many.",
        ),
    ] = None,
    eval_data: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Other data to measure with; else the samples that follow."),
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Answers (tokens, images) that scores by responses are measured on; more are surer, and "
            "slower.",
        ),
    ] = None,
    tokens: Annotated[int, typer.Option(metavar="N", min=2, help="Tokens per sample, for text.")] = 256,
    metric: Annotated[
        str,
        typer.Option(metavar="NAME", help="auto, loss, masked-loss, classification-loss or accuracy."),
    ] = "auto",
    seeds: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Runs of random removal; 3 if not given, 2 with --quick."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Measure at the budget alone, no curve.")] = False,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            help="Compare the scores of others as well, each refitted in two ways, on more samples, at the "
            "budget alone; slower, and the surest choice.",
        ),
    ] = False,
    controls: Annotated[
        bool,
        typer.Option(
            "--controls",
            help="Measure every score within layers and on half of the calibration data, too.",
        ),
    ] = False,
    heal: Annotated[
        int,
        typer.Option(
            metavar="STEPS",
            min=0,
            help="Train what is left of the attention for so many steps towards the whole network's answers "
            "on the calibration data; figures with and without.",
        ),
    ] = 0,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**63 - 1, help="Seed of the order of samples in --heal.")
    ] = 0,
    lines: LinesOption = False,
    gguf: GgufOption = None,
    device: DeviceOption = "cpu",
    run: KeptRunOption = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Folder for the mask, the figure, the results and the pruned model.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Find which heads can go, and write the model without them.

    Scores are computed on some samples and judged on others, all with the same number of heads removed.
    With --out, a mask file, the damage curves and the pruned model in safetensors are written; it loads
    with haarbor.load_pruned, or with transformers alone if --uniform is given and the architecture can
    say so.

    Example: haarbor prune zoo:transformer-xl --data zoo --quick -o pruned
    """
    from haarbor.cli._capture_paths import require_data, require_model
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._progress import shown_steps
    from haarbor.cli._pruned_files import PrunedFiles
    from haarbor.cli._run_checks import require_writable
    from haarbor.cli._run_of_model import require_run_of
    from haarbor.cli._said_line import say

    _require_one_pace(quick, thorough, compensate)
    choices = ("auto", "loss", "masked-loss", "classification-loss", "accuracy")
    wanted = checked_choice("--metric", metric, choices)
    # A network that was pruned before has no config.json of its own.
    again = (Path(model).expanduser() / "pruned.json").is_file()
    if not again:
        require_model(model)
    require_data(data)
    if eval_data is not None:
        require_data(eval_data, "--eval-data")
    opened = None
    if run is not None:
        from haarbor.store import open_run

        opened = open_run(run)
        require_writable(opened)
    say(f"Loading {model} ...")
    from haarbor.analysis import keep_pruning
    from haarbor.capturing import load_model
    from haarbor.pruning import (
        image_statistics,
        pruned_model,
        pruning_data,
        pruning_study,
        require_disjoint,
        score_names,
    )

    names = score_names(scores or (_THOROUGH_SCORES if thorough else _DEFAULT_SCORES))
    # Checked before the work, so that no result is lost because it cannot be written.
    files = None if out is None else PrunedFiles(out)
    loaded = (
        pruned_model(model, device=device)
        if again
        else load_model(model, gguf_file=gguf, device=device, dtype="float32")
    )
    for note in loaded.notes:
        typer.echo(note, err=True)
    prepared = pruning_data(
        loaded,
        data,
        eval_data=eval_data,
        n_calibration=calibration or (48 if loaded.images else _FEW_TEXTS if quick else _TEXTS),
        least_calibration=None if calibration or loaded.images else _FEW_TEXTS,
        n_evaluation=evaluation or (96 if loaded.images else 16) * (2 if thorough else 1),
        n_tokens=tokens,
        split="lines" if lines else "whole",
        metric=wanted,
    )
    for note in prepared.notes:
        typer.echo(note, err=True)
    require_disjoint(prepared.calibration, prepared.evaluation)
    replacement: tuple[str, ...] = ("refit",) if compensate else ("zero",)
    if thorough and prepared.alike:
        replacement = ("refit", "sequential")
    elif thorough:
        typer.echo(
            "Refitting one layer after another needs samples of one length, so layers are refitted side by "
            "side only.",
            err=True,
        )
    weights = None
    if opened is not None:
        # Checked before the work: a run of another network would be found out only after it.
        weights = require_run_of(opened, loaded.model, prepared.calibration)
    shares = [budget] if quick or thorough else sorted({0.1, 0.2, 0.3, 0.4, 0.5, budget})
    with shown_steps() as advance:
        study = pruning_study(
            loaded.model,
            prepared.calibration,
            prepared.evaluation,
            names,
            budget=budget,
            shares=shares,
            metric=prepared.metric,
            within="uniform" if uniform else "layer" if within_layer else "network",
            replacement=replacement,
            n_seeds=seeds or (2 if quick else 3),
            n_organized=_N_ORGANIZED_QUICKLY if quick else _N_ORGANIZED,
            n_answers=answers or (_THOROUGH_ANSWERS if thorough else None),
            controls=controls,
            heal_steps=heal,
            seed=seed,
            more_calibration=None if quick or calibration is not None else prepared.more,
            on_progress=advance,
        )
    summary = study.summary(loaded.name, prepared.description)
    summary["written"] = {}
    summary["origin"] |= image_statistics(loaded.takes)
    if opened is not None:
        keep_pruning(opened, study.results(loaded.name, prepared.description), weights=weights)
    if not as_json:
        _print(study, summary, controls)
    if files is not None:
        files.write(study, loaded, prepared, summary, uniform)
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
    elif files is not None:
        _print_files(study, summary, files)
    if opened is not None and not as_json:
        say(f"Kept in {run}; haarbor report {run} shows it.")
    failures = [] if files is None else files.failures
    for failure in failures[:-1]:
        typer.echo(str(failure), err=True)
    if failures:
        raise failures[-1]


def _require_one_pace(quick: bool, thorough: bool, compensate: bool) -> None:
    if thorough and (quick or not compensate):
        other = "--quick" if quick else "--no-compensate"
        raise typer.BadParameter(f"must be given without {other}; found both.", param_hint="--thorough")


def _print(study: PruningStudy, summary: dict[str, Any], with_controls: bool) -> None:
    from rich.console import Console

    console = Console()
    curves, best = study.curves, study.recommendation
    done = {"refit": "rest of each layer refitted", "zero": "replaced by zero"}[curves.replacement]
    typer.echo(
        f"{printable(summary['origin']['model'])}: {curves.metric} by heads removed of {best.n_heads} "
        f"({done}); {curves.baseline.value:.4g} for the whole network."
    )
    console.print(_damage_table(study))
    if with_controls:
        typer.echo(f"Controls with {best.n_removed} heads ({100 * best.share:.3g} %) removed, as damage:")
        console.print(_control_table(study))
    typer.echo(best.sentence)
    if study.too_sure:
        typer.echo(study.too_sure)
    if study.taken:
        typer.echo(study.taken)
    if study.disagreement:
        typer.echo(f"{study.disagreement} (--calibration N)")
    if study.healing_sentence:
        typer.echo(study.healing_sentence)
    # More than rounding to whole heads explains.
    if abs(study.budget * best.n_heads - best.n_removed) > 0.5:
        typer.echo(
            f"{100 * study.budget:g} % was asked for: {_REASONS[curves.within]}, so {best.n_removed} is the "
            "nearest number that can go."
        )
    typer.echo(
        f"Reliability of the damages {_reliability(curves.reliability)} (split-half over "
        f"{curves.baseline.counts.size} evaluation batches, Spearman-Brown); ± is the standard error "
        "over batches, and over seeds for random."
    )
    typer.echo(_size_line(study))


_REASONS = {
    "network": "every layer keeps a head",
    "layer": "every layer keeps a head",
    "uniform": "--uniform takes the same number of heads from every group that shares keys and values",
}


def _damage_table(study: PruningStudy) -> Table:
    from rich.table import Table

    curves = study.curves
    place_of_budget = curves.place(study.budget)
    # Ten columns would not fit; the figure and the results hold them all.
    shown = [
        place
        for place, asked in enumerate(curves.asked)
        if place == place_of_budget or any(round(100 * share) % 10 == 0 for share in asked)
    ]
    table = Table()
    table.add_column("score")
    for place in shown:
        heading = f"{curves.n_removed[place]}\n{100 * curves.shares[place]:.3g} %"
        table.add_column(heading, justify="right", no_wrap=True)
    best = study.recommendation.score
    for name in curves.curves:
        values, errors = curves.value(name), curves.standard_error(name)
        cells = [
            f"{values[place]:.3f}{f' ±{errors[place]:.3f}' if place == place_of_budget else ''}"
            for place in shown
        ]
        table.add_row(f"{name} *" if name == best else name, *cells, style="bold" if name == best else None)
    if study.healed is not None and study.healing is not None:
        # In a row of its own, at the budget alone: the others are without healing.
        cells = [f"{study.value:.3f}" if place == place_of_budget else "" for place in shown]
        table.add_row(f"{best}, healed", *cells)
    return table


def _control_table(study: PruningStudy) -> Table:
    from rich.table import Table

    table = Table()
    table.add_column("score", min_width=max(len(entry.name) for entry in study.controls))
    # Narrow enough for 80 columns.
    for heading in ("as\nasked", "within\nlayers", "half the\ncalibration", "halves\nagree"):
        table.add_column(heading, justify="right")
    place = study.curves.place(study.budget)
    for entry in study.controls:
        one, two = entry.half_calibrations
        table.add_row(
            entry.name,
            f"{study.curves.damage(entry.name)[place]:z.3f}",
            f"{entry.within_layer:z.3f}",
            f"{one:z.3f}, {two:z.3f}",
            f"{entry.agreement:.2f}" if math.isfinite(entry.agreement) else "undefined",
        )
    return table


def _reliability(value: float) -> str:
    if not math.isfinite(value):
        return "is not defined: too few damages, all alike, or exactly opposed on the two halves"
    return f"{value:.2f}" if value > 0 else f"none ({value:.2f}): the halves contradict each other"


def _print_files(study: PruningStudy, summary: dict[str, Any], files: PrunedFiles) -> None:
    for kind, name in files.written.items():
        typer.echo(f"  {kind.replace('_', ' '):15} {files.folder / name}")
    found = summary["pruned"]
    if "load" in found:
        typer.echo(
            f"The pruned model, read back: {study.curves.metric} {found['read_back']:.4f} "
            f"({study.curves.baseline.value:.4f} whole). Load it: {found['load']}"
        )
        if study.curves.replacement == "refit":
            typer.echo("The mask alone says which heads; the refit is in the model.")


def _size_line(study: PruningStudy) -> str:
    if study.smaller is None or study.footprint is None:
        return f"As large as the whole model: {study.refusal}"
    whole, smaller = study.footprint
    return (
        f"Smaller model: {smaller.n_parameters / 1e6:.2f} M parameters of {whole.n_parameters / 1e6:.2f} M "
        f"({smaller.n_bytes / 1e6:.1f} MB of {whole.n_bytes / 1e6:.1f} MB), "
        f"{1000 * smaller.seconds:.0f} ms per forward pass instead of {1000 * whole.seconds:.0f} ms."
    )
