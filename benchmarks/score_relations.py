"""How Haar entropy and its variants go with head diagnostics, on runs of trained networks.

    haarbor capture NETWORK --data DATA --out RUN.zarr --batches 4 --tokens 128
    python benchmarks/score_relations.py RUN.zarr ... --out docs/results/score_relations.json
    python benchmarks/score_relations.py --out docs/results/score_relations.json --figure FIGURE.png

Runs are organised and diagnosed first, where they are not. Results of other runs that `--out` holds stay; the
tables and the figure are made from `--out`.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np

import haarbor as hb
from haarbor.diagnostics import ScoreRelations, run_diagnostics, run_types, score_relations
from haarbor.plots import relations_figure, save_figure

SHOWN = ("entropy", "entropy-normalised", "entropy-mean-removed", "energy-share", "fine-share")


def numbers(array):
    """Rows for JSON, three decimals, None where there is no number."""
    return [[round(float(v), 3) if np.isfinite(v) else None for v in row] for row in array]


def measured(place):
    run = hb.open_run(place)
    hb.organize_run(run)
    run_diagnostics(run)
    found = score_relations(run)
    sizes = run.part().sizes
    return {
        "layers": sizes.n_layers,
        "heads": found.n_heads,
        "batches": run.n_batches,
        "tokens": sizes.n_keys,
        "types": dict(Counter(kind.name for kind in run_types(run)).most_common()),
        "haar": list(found.haar),
        "diagnostics": list(found.diagnostics),
        "correlations": numbers(found.correlations),
        "beyond": numbers(found.beyond),
        "explained": {name: round(value, 3) for name, value in found.explained.items()},
    }


def relations(name, result):
    """The result as it was measured."""

    def array(rows):
        return np.array([[np.nan if value is None else value for value in row] for row in rows])

    return ScoreRelations(
        network=name,
        haar=tuple(result["haar"]),
        diagnostics=tuple(result["diagnostics"]),
        correlations=array(result["correlations"]),
        explained=result["explained"],
        beyond=array(result["beyond"]),
        n_heads=result["heads"],
    )


def strongest(found, field, score, n=3):
    values = getattr(found, field)[found.haar.index(score)]
    names = [name for name in found.diagnostics if not name.startswith("attention-entropy")]
    by_name = dict(zip(found.diagnostics, values, strict=True))
    known = sorted(
        (name for name in names if np.isfinite(by_name[name])), key=lambda name: -abs(by_name[name])
    )
    return ", ".join(f"{name} {by_name[name]:+.2f}" for name in known[:n])


def tables(results):
    print("| network | heads | " + " | ".join(SHOWN) + " |")
    print("|---|---:|" + "---:|" * len(SHOWN))
    for name, result in results.items():
        print(
            f"| {name} | {result['heads']} | "
            + " | ".join(f"{result['explained'][s]:.2f}" for s in SHOWN)
            + " |"
        )
    for score in SHOWN[:2]:
        print(f"\n{score}, strongest at equal attention entropy:\n")
        print("| network | as it is | at equal attention entropy |\n|---|---|---|")
        for name, result in results.items():
            found = relations(name, result)
            both = (strongest(found, field, score) for field in ("correlations", "beyond"))
            print(f"| {name} | {' | '.join(both)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for place in asked.runs:
        results[place.stem] = measured(place)
        asked.out.write_text(json.dumps(results, indent=1) + "\n")
    tables(results)
    if asked.figure is not None:
        every = [relations(name, result) for name, result in results.items()]
        save_figure(relations_figure(every), asked.figure)
