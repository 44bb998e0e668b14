"""Heads removed as others would remove them, each with its own compensation and with ours.

    python benchmarks/pruning_baselines.py smollm2 --networks NETWORKS --wikitext WIKITEXT --out FOLDER

Networks, data and folders are those of benchmarks/pruning.py. The scores of others are written anew from
the descriptions of their papers. --calibration and --evaluation cut the data where time is short; how
much was used is written with the figures. With --out the numbers are written to FOLDER/NAME.json, and
pruning_page.py makes tables of them.

Where time is short, several runs with other --scores, each with its own --out and --batches, can go on side
by side. They are then put together, as if they had been one:

    python benchmarks/pruning_baselines.py smollm2 --join FOLDER FOLDER ... --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import machine_line
from pruning_networks import NETWORKS, Case, Places

from haarbor.array_types import BoolArray, FloatArray
from haarbor.errors import HaarborError
from haarbor.pruning import calibration_pass, measure, pruning_scores, removal_count, require_disjoint
from haarbor.pruning._damage_curves import measured_without
from haarbor.pruning._exchange_search import N_PASSES
from haarbor.pruning._scores import needed_parts, score_removal, scores_named
from haarbor.pruning._searched_choices import SEARCHED, SearchedChoices
from haarbor.pruning._sequential_compensation import whole_stream

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
METHODS = (
    ("leftover-answers", "refit"),
    ("leftover-answers", "sequential"),
    ("leftover-layer", "refit"),
    ("leftover-layer", "sequential"),
    ("leftover", "refit"),
    ("leftover", "sequential"),
    ("leftover-response", "refit"),
    ("gradient", "refit"),
    ("osscar", "sequential"),
    ("osscar", "refit"),
    ("fisher-mask", "refit"),
    ("flap", "refit"),
    ("layer-drop", "refit"),
    ("slimgpt", "refit"),
    ("wanda-sp", "refit"),
    ("osscar", "weights"),
    ("slimgpt", "weights"),
    ("flap", "mean"),
    ("wanda-sp", "zero"),
    ("fisher-mask", "scale"),
    ("layer-drop", "zero"),
    ("gradient", "zero"),
    ("gradient", "sequential"),
    ("fisher-mask", "sequential"),
    ("flap", "sequential"),
    ("layer-drop", "sequential"),
    ("leftover-response", "sequential"),
    ("leftover-share", "refit"),
    ("leftover-share", "sequential"),
    ("leftover-gradient", "refit"),
    ("leftover-fisher", "refit"),
    ("leftover-fisher", "sequential"),
    ("leftover-taylor", "refit"),
    ("leftover-taylor", "sequential"),
    ("searched", "refit"),
    ("searched", "sequential"),
    ("searched-loss", "refit"),
    ("searched-loss", "sequential"),
)
"""Score and what is done about the heads that go: as its authors do, then our refits. The first is compared
with all others, unless --against names another."""
CANDIDATES = ("refit", "sequential")
"""What is done about the heads that go, in the methods that are chosen from by measuring."""


def measured(
    case: Case,
    methods: tuple[tuple[str, str], ...],
    shares: tuple[float, ...],
    n_answers: int | None,
    starts: tuple[str, ...],
    n_passes: int,
    write: Callable[[dict[str, Any], dict[tuple[str, str], FloatArray]], None],
) -> None:
    """All numbers of a case, printed and written as they come."""
    require_disjoint(case.calibration, case.evaluation)
    measured_names = (score for score, _ in methods if score not in SEARCHED)
    names = list(dict.fromkeys([*measured_names, *starts]))
    begin = time.process_time()
    found = calibration_pass(
        case.model,
        case.calibration,
        parts=needed_parts(scores_named(names)),
        metric=case.metric,
        n_answers=n_answers,
    )
    values = pruning_scores(found, names)
    print(f"{case.name}: {found}; {time.process_time() - begin:.0f} CPU s", flush=True)
    whole = measure(case.model, case.evaluation, case.metric)
    sign = -1.0 if case.metric.higher_is_better else 1.0
    counts = [removal_count(found.heads, share) for share in shares]
    result: dict[str, Any] = {
        "name": case.name,
        "layers": len(found.heads.layers),
        "heads": [layer.n_heads for layer in found.heads.layers],
        "role": case.role,
        "about": case.about,
        "metric": case.metric.name,
        "n_calibration_batches": len(case.calibration),
        "n_evaluation_batches": len(case.evaluation),
        "n_answers": n_answers,
        "n_passes": n_passes,
        "shares": list(shares),
        "baseline": round(whole.value, 4),
        "compared_with": list(methods[0]),
        "rows": [],
    }
    known: dict[tuple[bytes, str], FloatArray] = {}
    chosen: dict[tuple[str, int], BoolArray] = {
        (score, count): score_removal(score, values[score], found, count)
        for score in names
        for count in counts
    }
    wanted = {score for score, _ in methods} & set(SEARCHED)
    searches = SearchedChoices(case.model, found, n_passes=n_passes) if wanted else None
    one_after_another = any(replacement == "sequential" for _, replacement in methods)
    stream = whole_stream(case.model, found.heads, found.batches) if one_after_another else None
    damages: dict[tuple[str, str], FloatArray] = {}
    for score, replacement in methods:
        rows = []
        for count in counts:
            if searches is not None and (score, count) not in chosen:
                search = searches.search(score, {name: chosen[name, count] for name in starts or names})
                chosen[score, count] = search.removed
                print(f"  {score} {count}: {search} [{time.process_time() - begin:.0f} CPU s]", flush=True)
            removed = chosen[score, count]
            key = (removed.tobytes(), replacement)
            if key not in known:
                without = measured_without(
                    case.model, removed, found, case.evaluation, case.metric, replacement, stream
                )
                known[key] = sign * (without.each - whole.each)
            rows.append(known[key])
        damages[score, replacement] = np.array(rows)
        own = numbers(damages[score, replacement], damages[methods[0]])
        result["rows"].append({"score": score, "replacement": replacement, **own})
        if any(replacement in CANDIDATES for _, replacement in damages):
            result["choice"] = choice(damages)
        write(result, damages)
        shown = "  ".join(
            f"{mean:+.3f} ±{error:.3f}" for mean, error in zip(*mean_and_error(np.array(rows)), strict=True)
        )
        print(
            f"  {score:18s}{replacement:12s}{shown}   [{time.process_time() - begin:.0f} CPU s]", flush=True
        )


def joined(name: str, folders: Sequence[Path]) -> tuple[dict[str, Any], dict[tuple[str, str], FloatArray]]:
    """What one run with the scores of all these runs would have written."""
    results = [json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for folder in folders]
    result = results[0]
    own = ("rows", "choice", "compared_with")
    for other, folder in zip(results[1:], folders[1:], strict=True):
        if {**other, **dict.fromkeys(own)} != {**result, **dict.fromkeys(own)}:
            sys.exit(f"{folder} must be of the same network, data and machine as {folders[0]}; it is not.")
    found: dict[tuple[str, str], FloatArray] = {}
    for folder in folders:
        with np.load(folder / f"{name}.npz") as arrays:
            found |= {method: arrays[" ".join(method)] for method in METHODS if " ".join(method) in arrays}
    damages = {method: found[method] for method in METHODS if method in found}
    ours, own_damage = next(iter(damages.items()))
    result["compared_with"] = list(ours)
    result["rows"] = [
        {"score": score, "replacement": replacement, **numbers(damage, own_damage)}
        for (score, replacement), damage in damages.items()
    ]
    result["choice"] = choice(damages)
    return result, damages


def mean_and_error(damages: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean over batches, and its standard error; one row per share."""
    return damages.mean(axis=1), damages.std(axis=1, ddof=1) / np.sqrt(damages.shape[1])


def numbers(damages: FloatArray, ours: FloatArray) -> dict[str, list[float]]:
    """Damage, and how much more than ours it is, batch by batch."""
    (damage, error), (more, its_error) = mean_and_error(damages), mean_and_error(damages - ours)
    found = {
        "damage": damage,
        "standard_errors": error,
        "more_than_ours": more,
        "standard_errors_of_more": its_error,
    }
    return {name: np.round(array, 4).tolist() for name, array in found.items()}


def choice(damages: dict[tuple[str, str], FloatArray]) -> dict[str, Any]:
    """What is chosen by measuring, and how it does where it was not chosen.

    At each share the method that does least damage on the even batches is taken; all are compared on the odd
    ones. Candidates are the scores of everybody, with a least-squares fit of what stays.
    """
    candidates = [method for method in damages if method[1] in CANDIDATES]
    even, odd = slice(0, None, 2), slice(1, None, 2)
    n_shares = len(next(iter(damages.values())))
    chosen = [
        min(candidates, key=lambda method: damages[method][place, even].mean()) for place in range(n_shares)
    ]
    own = np.array([damages[method][place, odd] for place, method in enumerate(chosen)])
    return {
        "candidates": [list(method) for method in candidates],
        "chosen": [list(method) for method in chosen],
        "rows": [
            {"score": score, "replacement": replacement, **numbers(damage[:, odd], own)}
            for (score, replacement), damage in damages.items()
        ],
        **numbers(own, own),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Heads removed as others would, against ours.")
    parser.add_argument("name", choices=NETWORKS)
    for option in ("networks", "wikitext", "cifar", "data", "model"):
        parser.add_argument(f"--{option}", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scores", help="names with commas; all of them by default")
    parser.add_argument("--against", help="score that is compared with all others")
    parser.add_argument("--replacements", help="names with commas; all of them by default")
    parser.add_argument("--methods", help="pairs SCORE:REPLACEMENT with commas, in place of both")
    parser.add_argument(
        "--starts", help="scores that searches begin from, names with commas; else those measured"
    )
    parser.add_argument(
        "--passes", type=int, default=N_PASSES, help="work of a search, in passes over the data"
    )
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--calibration", type=int, help="batches to calibrate on; all by default")
    parser.add_argument("--evaluation", type=int, help="batches to measure on; all by default")
    parser.add_argument("--answers", type=int, help="answers that responses are measured on")
    parser.add_argument("--out", type=Path, help="folder for NAME.json")
    parser.add_argument("--batches", type=Path, help="folder for NAME.npz: the damage on every batch")
    parser.add_argument(
        "--join", type=Path, nargs="+", help="folders of runs, NAME.json and NAME.npz in each"
    )
    return parser.parse_args()


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
    given = arguments()
    options = ("networks", "wikitext", "cifar", "data", "model")
    places = Places(**{option: getattr(given, option) for option in options})
    scores, replacements = (
        None if text is None else text.split(",") for text in (given.scores, given.replacements)
    )
    methods = tuple(
        (score, replacement)
        for score, replacement in METHODS
        if (scores is None or score in scores) and (replacements is None or replacement in replacements)
    )
    if given.methods is not None:
        wanted = [tuple(pair.split(":")) for pair in given.methods.split(",")]
        methods = tuple(method for method in METHODS if method in wanted)
    measured_scores = [score for score, _ in methods]
    if given.against not in (None, *measured_scores):
        sys.exit(
            f"--against must be one of {', '.join(dict.fromkeys(measured_scores))}; it is {given.against}."
        )
    methods = tuple(sorted(methods, key=lambda method: method[0] != given.against))
    starts = () if given.starts is None else tuple(given.starts.split(","))
    shares = tuple(map(float, given.shares.split(",")))
    sizes = {"n_calibration": given.calibration, "n_evaluation": given.evaluation}
    processor = torch.cuda.get_device_name() if given.device.startswith("cuda") else "processor only"
    machine = f"{machine_line()}, torch {torch.__version__}, {processor}"

    def write(result: dict[str, Any], damages: dict[tuple[str, str], FloatArray]) -> None:
        if given.out is not None:
            given.out.mkdir(parents=True, exist_ok=True)
            text = json.dumps({**result, "machine": result.get("machine", machine)}, indent=1) + "\n"
            (given.out / f"{result['name']}.json").write_text(text, encoding="utf-8")
        if given.batches is not None:
            given.batches.mkdir(parents=True, exist_ok=True)
            named = {" ".join(method): damage for method, damage in damages.items()}
            np.savez_compressed(given.batches / f"{result['name']}.npz", **named)

    if given.join:
        write(*joined(given.name, given.join))
        return
    try:
        case = NETWORKS[given.name](
            places, **{name: size for name, size in sizes.items() if size is not None}
        )
        case.model.to(given.device)
        measured(case, methods, shares, given.answers, starts, given.passes, write)
    except HaarborError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
