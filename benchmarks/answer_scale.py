"""How sure of itself each network of the pruning benchmark is: the factor on its scores of least loss.

    python benchmarks/answer_scale.py smollm2 gemma3 ... --networks NETWORKS --wikitext WIKITEXT --out FOLDER

Networks, data and folders are those of benchmarks/pruning.py. The factor is found on the even batches of the
evaluation data, and what it changes is told on the odd ones. Below 1 a network is surer than it is right, and
whatever makes it less sure lowers its loss, the removal of a head too. With --out the numbers are written to
FOLDER/NAME.json, and pruning_page.py makes a table of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from pathlib import Path

import torch
from machine import machine_line
from pruning_networks import NETWORKS, Places

from haarbor.errors import HaarborError
from haarbor.pruning import answer_scale, measure


def main() -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
    parser = argparse.ArgumentParser(description="The factor on a network's scores of least loss.")
    parser.add_argument("names", nargs="+", choices=NETWORKS)
    options = ("networks", "wikitext", "cifar", "data", "model")
    for option in options:
        parser.add_argument(f"--{option}", type=Path)
    parser.add_argument("--evaluation", type=int, help="batches to measure on; all by default")
    parser.add_argument("--out", type=Path, help="folder for NAME.json")
    given = parser.parse_args()
    places = Places(**{option: getattr(given, option) for option in options})
    sizes = {} if given.evaluation is None else {"n_evaluation": given.evaluation}
    for name in given.names:
        try:
            case = NETWORKS[name](places, **sizes)
            found = answer_scale(case.model, case.evaluation, case.metric)
            whole = measure(case.model, case.evaluation[1::2], case.metric)
        except HaarborError as error:
            sys.exit(str(error))
        if found is None:
            sys.exit(f"{name} must answer with scores; it answers with vectors.")
        result = {
            "name": name,
            "role": case.role,
            "metric": found.metric,
            "n_evaluation_batches": len(case.evaluation),
            "factor": found.factor,
            "baseline": round(whole.value, 4),
            "gain": round(found.gain, 4),
            "standard_error": round(found.standard_error, 4),
            "machine": f"{machine_line()}, torch {torch.__version__}, processor only",
        }
        print(f"{name:20s} loss {whole.value:.4f}; {found}", flush=True)
        if given.out is not None:
            given.out.mkdir(parents=True, exist_ok=True)
            text = json.dumps(result, indent=1) + "\n"
            (given.out / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
