"""How much calibration data a refit needs, and how it is best made: data x ridge x refit x score x share.

    python benchmarks/pruning_calibration.py smollm2 --networks NETWORKS --wikitext WIKITEXT --out FOLDER

Networks, data and folders are those of benchmarks/pruning.py. Smaller calibration sets are the first batches
of the largest one; all are measured on the same evaluation data. With --out the numbers are written to
FOLDER/NAME.json after every row, and pruning_page.py makes tables of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import machine_line
from pruning_networks import NETWORKS, Case, Places

from haarbor.errors import HaarborError
from haarbor.pruning import (
    calibration_pass,
    compensated,
    measure,
    pruning_scores,
    removal_count,
    require_disjoint,
)
from haarbor.pruning._replacement_fits import replacement_fits
from haarbor.pruning._scores import needed_parts, score_removal, scores_named

SIZES = {
    "smollm2": (256, 64, 16),
    "transformer-xl": (128, 32, 8),
    "vision-transformer": (1024, 256, 64),
    "rxnmapper": (192, 48, 12),
}
"""Batches to calibrate on, most first; the others are networks that nothing is chosen on."""


def measured(case: Case, given: argparse.Namespace, write: Any) -> None:
    """All numbers of a case, printed and written as they come."""
    require_disjoint(case.calibration, case.evaluation)
    names, shares = given.scores.split(","), [float(text) for text in given.shares.split(",")]
    parts = needed_parts(scores_named(names))
    whole = measure(case.model, case.evaluation, case.metric)
    sign = -1.0 if case.metric.higher_is_better else 1.0
    result: dict[str, Any] = {
        "name": case.name,
        "role": case.role,
        "about": case.about,
        "metric": case.metric.name,
        "n_evaluation_batches": len(case.evaluation),
        "shares": shares,
        "baseline": round(whole.value, 4),
        "rows": [],
    }
    begin = time.perf_counter()
    for size in given.sizes:
        found = calibration_pass(case.model, case.calibration[:size], parts=parts, metric=case.metric)
        values = pruning_scores(found, names)
        n_tokens = max(moment.n_tokens for moment in found.moments)
        counts = [removal_count(found.heads, share) for share in shares]
        chosen = {
            name: [score_removal(name, values[name], found, count) for count in counts] for name in names
        }
        print(f"{case.name}: {size} batches, {n_tokens:,} tokens", flush=True)
        for refit, ridge, name in product(given.refits.split(","), given.ridges, names):
            damages = []
            for removed in chosen[name]:
                fits = replacement_fits(case.model, found, removed, refit, ridge=ridge)
                with compensated(case.model, found.heads, fits):
                    each = measure(case.model, case.evaluation, case.metric).each
                damages.append(sign * (each - whole.each))
            table = np.array(damages)
            errors = table.std(axis=1, ddof=1) / np.sqrt(table.shape[1])
            result["rows"].append(
                {
                    "n_batches": size,
                    "n_tokens": n_tokens,
                    "refit": refit,
                    "ridge": ridge,
                    "score": name,
                    "damage": np.round(table.mean(axis=1), 4).tolist(),
                    "standard_errors": np.round(errors, 4).tolist(),
                }
            )
            shown = "  ".join(
                f"{mean:+.3f} ±{error:.3f}" for mean, error in zip(table.mean(axis=1), errors, strict=True)
            )
            spent = time.perf_counter() - begin
            print(f"  {n_tokens:7d} {refit:11s} {ridge:<7g} {name:26s} {shown}  [{spent:.0f} s]", flush=True)
            write(result)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How much calibration data a refit needs.")
    parser.add_argument("name", choices=NETWORKS)
    for option in ("networks", "wikitext", "cifar", "data", "model"):
        parser.add_argument(f"--{option}", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scores", default="leftover,osscar")
    parser.add_argument("--refits", default="refit,sequential")
    parser.add_argument("--ridges", default="0.1,0.03,0.01,0.001")
    parser.add_argument("--shares", default="0.3,0.5")
    parser.add_argument("--sizes", help="batches to calibrate on, with commas; several by default")
    parser.add_argument("--evaluation", type=int, help="batches to measure on")
    parser.add_argument("--out", type=Path, help="folder for NAME.json")
    given = parser.parse_args()
    sizes = SIZES.get(given.name) if given.sizes is None else given.sizes.split(",")
    if sizes is None:
        parser.error(f"--sizes must be given for {given.name}.")
    given.sizes = [int(size) for size in sizes]
    given.ridges = [float(ridge) for ridge in given.ridges.split(",")]
    return given


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
    given = arguments()
    places = Places(
        **{name: getattr(given, name) for name in ("networks", "wikitext", "cifar", "data", "model")}
    )
    processor = torch.cuda.get_device_name() if given.device.startswith("cuda") else "processor only"
    machine = f"{machine_line()}, torch {torch.__version__}, {processor}"

    def write(result: dict[str, Any]) -> None:
        if given.out is not None:
            given.out.mkdir(parents=True, exist_ok=True)
            text = json.dumps({**result, "machine": machine}, indent=1) + "\n"
            (given.out / f"{result['name']}.json").write_text(text, encoding="utf-8")

    evaluation = {} if given.evaluation is None else {"n_evaluation": given.evaluation}
    try:
        case = NETWORKS[given.name](places, n_calibration=max(given.sizes), **evaluation)
        case.model.to(given.device)
        measured(case, given, write)
    except HaarborError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
