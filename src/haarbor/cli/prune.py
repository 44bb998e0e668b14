"""haarbor prune: which heads of a model can go, and the model without them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli.model_argument import ModelArgument

if TYPE_CHECKING:
    from haarbor.pruning import PruningStudy

__all__ = ["prune"]

_DEFAULT_SCORES = (
    "leftover-response,leftover,response,relative-norm,gradient,redundancy,h400,h400-random-tree,"
    "h400-no-tree,random"
)


def prune(
    model: ModelArgument,
    data: Annotated[
        str,
        typer.Option(
            help="Text file, .npy of token ids, .npz or folder of images, hub:DATASET, or "
            "'zoo' (in the package)."
        ),
    ],
    budget: Annotated[float, typer.Option(min=0.01, max=0.95, help="Share of the heads to remove.")] = 0.3,
    scores: Annotated[
        str, typer.Option(help="Scores to compare, separated by commas; 'all' for every one.")
    ] = _DEFAULT_SCORES,
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
        typer.Option(min=2, help="Samples to score and refit with; by default 16 texts or 48 images."),
    ] = None,
    evaluation: Annotated[
        int | None, typer.Option(min=4, help="Samples to measure with; by default 16 texts or 96 images.")
    ] = None,
    eval_data: Annotated[
        str | None, typer.Option(help="Other data to measure with; else the samples that follow.")
    ] = None,
    tokens: Annotated[int, typer.Option(min=2, help="Tokens a sample, for text.")] = 256,
    metric: Annotated[
        str,
        typer.Option(help="auto, loss, masked-loss, classification-loss or accuracy."),
    ] = "auto",
    seeds: Annotated[int, typer.Option(min=1, help="Runs of random removal.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="Measure at the budget alone, no curve.")] = False,
    lines: Annotated[bool, typer.Option(help="One document a line, instead of the whole text.")] = False,
    gguf: Annotated[str | None, typer.Option(help="Name of a GGUF file in the model's folder.")] = None,
    device: Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, ...")] = "cpu",
    out: Annotated[
        str | None, typer.Option(help="Folder for the mask, the figure, the results and the pruned model.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Find out which heads of a model can go, and write the model without them.

    Scores are computed on some samples and judged on others. With --out, a mask file, the damage
    curves and a smaller model in safetensors are written; it loads with haarbor.load_pruned, or with
    transformers alone if --uniform is given and the architecture can say so.
    """
    from haarbor.capturing import load_model
    from haarbor.cli.choices import checked_choice
    from haarbor.cli.progress import shown_steps
    from haarbor.pruning import pruning_data, pruning_study, score_names
    from haarbor.pruning.model_batches import require_disjoint

    choices = ("auto", "loss", "masked-loss", "classification-loss", "accuracy")
    wanted = checked_choice("--metric", metric, choices)
    names = score_names(scores)
    # Before the work, so that nothing is lost for want of a place to write to.
    folder = None if out is None else _made_folder(out)
    loaded = load_model(model, gguf_file=gguf, device=device, dtype="float32")
    for note in loaded.notes:
        typer.echo(note, err=True)
    prepared = pruning_data(
        loaded,
        data,
        eval_data=eval_data,
        n_calibration=calibration or (48 if loaded.images else 16),
        n_evaluation=evaluation or (96 if loaded.images else 16),
        n_tokens=tokens,
        split="lines" if lines else "whole",
        metric=wanted,
    )
    for note in prepared.notes:
        typer.echo(note, err=True)
    require_disjoint(prepared.calibration, prepared.evaluation)
    shares = [budget] if quick else sorted({*(round(0.05 * step, 2) for step in range(1, 11)), budget})
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
            replacement="refit" if compensate else "zero",
            n_seeds=seeds,
            on_progress=advance,
        )
    summary = study.summary(loaded.name, prepared.description)
    written = _write(folder, study, loaded, summary, uniform) if folder is not None else {}
    summary["written"] = written
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
    else:
        _print(study, summary, out)


def _made_folder(out: str) -> Path:
    from haarbor.errors import PruningError

    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PruningError(f"{folder} must be a folder to write to: {error.strerror or error}.") from error
    return folder


def _write(
    folder: Path, study: PruningStudy, loaded: Any, summary: dict[str, Any], uniform: bool
) -> dict[str, str]:
    from haarbor.errors import PruningError, SettingError
    from haarbor.pruning import save_pruned, standard_model, write_mask

    written = {"mask": "mask.json", "results": "results.json"}
    write_mask(folder / "mask.json", study.sites, study.removed, origin=summary["origin"])
    try:
        from haarbor.plots import damage_figure, save_figure

        figure = damage_figure(study.curves, share=study.budget, title=f"{loaded.name}: heads removed")
        save_figure(figure, folder / "damage.png")
        written["figure"] = "damage.png"
    except SettingError as error:
        typer.echo(str(error), err=True)
    if study.smaller is None:
        typer.echo(study.refusal, err=True)
    else:
        target = folder / "model"
        smaller = study.smaller
        try:
            if not uniform:
                raise PruningError("")
            standard_model(smaller, study.sites, study.removed, study.batch).save_pretrained(target)
            written["standard_model"] = "model"
        except PruningError as error:
            if str(error):
                typer.echo(str(error), err=True)
            save_pruned(target, smaller, study.sites, study.removed, origin=summary["origin"])
            written["pruned_model"] = "model"
        if loaded.tokenizer is not None:
            loaded.tokenizer.save_pretrained(target)
    (folder / "results.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    return written


def _print(study: PruningStudy, summary: dict[str, Any], out: str | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    curves, budget = study.curves, study.budget
    done = {"refit": "rest of each layer refitted", "zero": "replaced by zero"}[curves.replacement]
    typer.echo(
        f"{summary['origin']['model']}: {curves.metric} by share of heads removed ({done}); "
        f"{curves.baseline.value:.4g} for the whole network."
    )
    shown = [share for share in curves.shares if round(100 * share) % 10 == 0 or share == budget]
    table = Table()
    table.add_column("score")
    for share in shown:
        table.add_column(f"{100 * share:g} %", justify="right", no_wrap=True)
    best = study.recommendation.score
    for name in curves.curves:
        values, errors = curves.value(name), curves.standard_error(name)
        cells = []
        for share in shown:
            place = curves.place(float(share))
            error = f" ±{errors[place]:.3f}" if share == budget else ""
            cells.append(f"{values[place]:.3f}{error}")
        table.add_row(f"{name} *" if name == best else name, *cells, style="bold" if name == best else None)
    console.print(table)
    typer.echo(f"Controls at {100 * budget:g} %, as damage:")
    controls = Table()
    controls.add_column("score", min_width=max(len(entry.name) for entry in study.controls))
    # Narrow enough for 80 columns.
    for heading in ("as\nasked", "within\nlayers", "half the\ncalibration", "halves\nagree"):
        controls.add_column(heading, justify="right")
    for entry in study.controls:
        place = curves.place(budget)
        one, two = entry.half_calibrations
        controls.add_row(
            entry.name,
            f"{curves.damage(entry.name)[place]:z.3f}",
            f"{entry.within_layer:z.3f}",
            f"{one:z.3f}, {two:z.3f}",
            f"{entry.agreement:.2f}",
        )
    console.print(controls)
    typer.echo(study.recommendation.sentence)
    typer.echo(
        f"Reliability of the damages {curves.reliability:.2f} (split-half over "
        f"{curves.baseline.counts.size} evaluation batches, Spearman-Brown); ± is the standard error "
        "over batches, and over seeds for random."
    )
    typer.echo(_size_line(study))
    for kind, name in summary["written"].items():
        typer.echo(f"  {kind.replace('_', ' '):15} {Path(out or '') / name}")


def _size_line(study: PruningStudy) -> str:
    if study.smaller is None or study.footprint is None:
        return f"No smaller model: {study.refusal}"
    whole, smaller = study.footprint
    return (
        f"Smaller model: {smaller.n_parameters / 1e6:.2f} M parameters of {whole.n_parameters / 1e6:.2f} M "
        f"({smaller.n_bytes / 1e6:.1f} MB of {whole.n_bytes / 1e6:.1f} MB), "
        f"{1000 * smaller.seconds:.0f} ms a forward of {1000 * whole.seconds:.0f} ms."
    )
