"""Held-out coherence of every builder, and the curve of depth against it for Haar trees.

Trees of queries and keys from half of the heads are measured on the other half, and the head tree of a batch
on the next one; both as the l1 norm on order trees over that on the trees, so above 1 is better than the
order as given. Errors are standard errors over batches. The lead of Haar trees is over the same splits.

    haarbor capture zoo:transformer-xl --data zoo --out text.zarr --logits --batches 4 --dtype float16
    haarbor capture zoo:vision-transformer --data zoo --out images.zarr --logits --batches 4 --dtype float16
    python benchmarks/held_out.py text.zarr images.zarr --figure docs/images/trees/depth.png
"""

import argparse
import time
from pathlib import Path

import numpy as np

import haarbor as hb
from haarbor.analysis import held_out_coherence

RESTRAINTS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)
OTHERS = ("flexible", "binary", "average", "ward")


def measured(part, method, splits):
    """Result and seconds for one method."""
    begin = time.perf_counter()
    found = held_out_coherence(part, method, n_splits=splits)
    return found, time.perf_counter() - begin


def row(name, found, seconds, lead=None):
    depth = " ".join(f"{np.mean(values):5.2f}" for values in found.depth.values())
    told = ""
    if lead is not None:
        told = "   lead of haar " + ", ".join(f"{mean:+.3f} ± {error:.3f}" for mean, error in lead)
    print(
        f"  {name:18s} heads {found.mean_heads:.3f} ± {found.error_heads:.3f}  batches "
        f"{found.mean_batches:.3f} ± {found.error_batches:.3f}  in sample {found.in_sample.mean():.3f}  "
        f"depth {depth}  {seconds:5.1f} s{told}",
        flush=True,
    )


def table(part, splits):
    """Print the table of one run; results of Haar trees by restraint."""
    curve = {}
    for restraint in RESTRAINTS:
        found, seconds = measured(part, {"tree": "haar", "restraint": restraint}, splits)
        curve[restraint] = found
        row(f"haar, r={restraint:g}", found, seconds)
    usual = curve[0.01]
    for method in OTHERS:
        found, seconds = measured(part, method, splits)
        row(method, found, seconds, [usual.lead_over(found, of) for of in ("heads", "batches")])
    return curve


def draw(curves, path):
    """Held-out coherence against the mean depth of the trees, one line per network."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 3.2), layout="constrained")
    panels = figure.subplots(1, 2)
    for name, curve in curves.items():
        pairs = (
            ([np.mean([f.depth[a].mean() for a in ("query", "key")]) for f in curve.values()], "heads"),
            ([f.depth["head"].mean() for f in curve.values()], "batches"),
        )
        for panel, (depth, which) in zip(panels, pairs, strict=True):
            values = [getattr(f, f"mean_{which}") for f in curve.values()]
            [line] = panel.plot(depth, values, "o-", markersize=3, linewidth=1, label=name)
            usual = list(curve).index(0.01)
            panel.plot(
                depth[usual], values[usual], "o", markersize=7, fillstyle="none", color=line.get_color()
            )
    panels[0].set_xlabel("depth of query and key trees, 1: balanced")
    panels[0].set_ylabel("coherence on held-out heads")
    panels[1].set_xlabel("depth of head trees, 1: balanced")
    panels[1].set_ylabel("coherence on the next batch")
    panels[0].legend(frameon=False, fontsize=7)
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--content", default="probabilities", choices=("probabilities", "logits"))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    curves = {}
    for place in asked.runs:
        run = hb.open_run(place)
        part = run.part(asked.content)
        print(f"{run.model}, {asked.content}, {len(part.batches)} batches, {run.n_heads} heads", flush=True)
        curves[run.model] = table(part, asked.splits)
    if asked.figure is not None:
        draw(curves, asked.figure)


if __name__ == "__main__":
    main()
