"""Which heads can go, measured: scores against each other on trained networks.

    python benchmarks/pruning.py transformer-xl --wikitext WIKITEXT        embedded, or --model FOLDER
    python benchmarks/pruning.py vision-transformer --cifar CIFAR          embedded, or --model FOLDER
    python benchmarks/pruning.py smollm2 --networks NETWORKS --wikitext WIKITEXT
    python benchmarks/pruning.py gemma3 --data DATA --wikitext WIKITEXT
    python benchmarks/pruning.py minilm --networks NETWORKS --data DATA
    python benchmarks/pruning.py rxnmapper --networks NETWORKS --data DATA
    python benchmarks/pruning.py rxnfp --data DATA
    python benchmarks/pruning.py antiberty --data DATA

NETWORKS is the folder that tests/real/fetch_networks.py fills, DATA the one of fetch_pruning_data.py;
WIKITEXT holds {train,valid,test}.txt.xz, CIFAR the mosaic test.jpg and labels.npz. With
--out FOLDER the numbers are written to FOLDER/NAME.json; pruning_page.py makes the tables of
docs/evidence/pruning.md of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from machine import machine_line
from pruning_networks import NETWORKS, Case, Places

from haarbor.array_types import FloatArray
from haarbor.errors import HaarborError
from haarbor.pruning import (
    CalibrationPass,
    DamageCurves,
    calibration_pass,
    compensate,
    damage_curves,
    pruning_scores,
    recommendation,
    require_disjoint,
)
from haarbor.pruning._scores import SCORES, needed_parts, scores_named

SHARES = (0.1, 0.2, 0.3, 0.4)
RANDOM, COMPARED_WITH = "random", "gradient"
FEW = (
    "leftover", "leftover-response", "response", "relative-norm", "gradient", "fisher", "redundancy",
    "h400", "h400-high", "h400-random-tree", RANDOM,
)  # fmt: skip
MANY = (*SCORES, RANDOM)

T = TypeVar("T")


def seconds(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begin


def measured(
    case: Case, scores: Sequence[str], replacements: Sequence[str], shown: Sequence[str]
) -> dict[str, Any]:
    """All numbers of a case, printed as they come."""
    require_disjoint(case.calibration, case.evaluation)
    named = [score for score in scores if score != RANDOM]
    parts = needed_parts(scores_named(named))
    found, of_pass = seconds(
        lambda: calibration_pass(case.model, case.calibration, parts=parts, metric=case.metric)
    )
    values, of_scores = seconds(lambda: pruning_scores(found, named))
    print(f"{case.name}: {found}; pass {of_pass:.1f} s, scores {of_scores:.1f} s", flush=True)
    of_refit = refit_seconds(case.model, found, next(iter(values.values())))
    print(f"  compensation from the moments of the pass: {of_refit:.2f} s", flush=True)
    result: dict[str, Any] = {
        "name": case.name,
        "layers": len(found.heads.layers),
        "heads": [layer.n_heads for layer in found.heads.layers],
        "role": case.role,
        "about": case.about,
        "metric": case.metric.name,
        "n_calibration_batches": len(case.calibration),
        "n_evaluation_batches": len(case.evaluation),
        "seconds": {"pass": round(of_pass, 1), "scores": round(of_scores, 1), "refit": round(of_refit, 2)},
        "shares": list(SHARES),
        "replacements": {},
    }
    for replacement in replacements:
        curves, taken = seconds(
            lambda replacement=replacement: damage_curves(
                case.model,
                found,
                case.evaluation,
                shown,
                shares=SHARES,
                metric=case.metric,
                replacement=replacement,
            )
        )
        show(curves, taken)
        result["baseline"] = rounded(curves.baseline.value)
        result["replacements"][replacement] = {
            "reliability": rounded(curves.reliability),
            "scores": {score: numbers(curves, score) for score in curves.curves},
        }
    return result


def refit_seconds(model: torch.nn.Module, found: CalibrationPass, values: FloatArray) -> float:
    """Time of refitting a network without 30 % of its heads."""
    removed = values.argsort().argsort() < 0.3 * found.heads.n_heads
    return seconds(lambda: compensate(model, found.heads, removed, None, moments=found.moments))[1]


def show(curves: DamageCurves, taken: float) -> None:
    base, reliability = curves.baseline.value, curves.reliability
    print(f"  {curves.replacement}: base {base:.4f}, reliability {reliability:.2f}, {taken:.0f} s")
    for score in curves.curves:
        row = zip(curves.value(score), curves.standard_error(score), strict=True)
        print(f"    {score:24s}" + "  ".join(f"{value:.3f} ±{error:.3f}" for value, error in row), flush=True)
    for share in SHARES:
        print("    " + recommendation(curves, share).sentence, flush=True)


def numbers(curves: DamageCurves, score: str) -> dict[str, list[float]]:
    """Values of a score with their errors, and how much more damage it does than gradient importance."""
    found = {
        "values": rounded(curves.value(score)),
        "standard_errors": rounded(curves.standard_error(score)),
    }
    if COMPARED_WITH in curves.curves:
        paired = differences(curves, score, COMPARED_WITH)
        found["difference_to_gradient"] = rounded(paired.damage(score))
        found["standard_errors_of_difference"] = rounded(paired.standard_error(score))
    return found


def differences(curves: DamageCurves, score: str, other: str) -> DamageCurves:
    """Damage by a score less that by another, batch by batch; negative where the score does less."""
    own, others = curves.curves[score], curves.curves[other].damage.mean(axis=0)
    paired = replace(own, damage=own.damage - others)
    return replace(curves, curves={score: paired})


def rounded(values: Any) -> Any:
    return np.round(values, 4).tolist()


def chosen_scores(given: str) -> tuple[str, ...]:
    return {"few": FEW, "many": MANY}.get(given) or tuple(given.split(","))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Scores of heads against each other on a trained network.")
    parser.add_argument("name", choices=NETWORKS)
    parser.add_argument("--networks", type=Path, help="folder that tests/real/fetch_networks.py fills")
    parser.add_argument("--wikitext", type=Path, help="folder with {train,valid,test}.txt.xz")
    parser.add_argument("--cifar", type=Path, help="folder with test.jpg and labels.npz")
    parser.add_argument("--data", type=Path, help="folder that benchmarks/fetch_pruning_data.py fills")
    parser.add_argument("--model", type=Path, help="folder with another network of haarbor.zoo")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scores", default="few", help="few, many, or names with commas between them")
    parser.add_argument("--curves", help="those of the scores that are measured; all of them by default")
    parser.add_argument("--evaluation", type=int, help="batches to measure on; all of them by default")
    parser.add_argument("--replacements", default="refit,zero", help="of refit, zero and mean")
    parser.add_argument("--out", type=Path, help="folder for NAME.json")
    given = parser.parse_args()
    if given.model is not None and given.name not in ("transformer-xl", "vision-transformer"):
        parser.error("--model goes with transformer-xl and vision-transformer only.")
    return given


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
    given = arguments()
    places = Places(
        networks=given.networks,
        wikitext=given.wikitext,
        cifar=given.cifar,
        data=given.data,
        model=given.model,
    )
    scores = chosen_scores(given.scores)
    processor = torch.cuda.get_device_name() if given.device.startswith("cuda") else "processor only"
    machine = f"{machine_line()}, torch {torch.__version__}, {processor}"
    print(machine, flush=True)
    try:
        scores_named(score for score in scores if score != RANDOM)
        case = NETWORKS[given.name](places)
        case.model.to(given.device)
        if given.evaluation is not None:
            case = replace(case, evaluation=case.evaluation[: given.evaluation])
        shown = scores if given.curves is None else tuple(given.curves.split(","))
        result = measured(case, scores, given.replacements.split(","), shown)
    except HaarborError as error:
        sys.exit(str(error))
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        path = given.out / f"{case.name}.json"
        path.write_text(json.dumps({**result, "machine": machine}, indent=1) + "\n", encoding="utf-8")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
