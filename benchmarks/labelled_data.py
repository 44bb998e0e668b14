"""Do the levels of trees agree with known labels? Every builder on public data, settings fixed beforehand.

For each set of data and each builder: the agreement (adjusted mutual information) of the labels with the best
level of the tree, with the level whose number of folders is nearest to that of the labels, and with the tree
cut into as many folders as there are labels; coherence on held-out data; the depth of the tree; and the time.

    python benchmarks/fetch_labelled_data.py DATA
    OMP_NUM_THREADS=1 python benchmarks/labelled_data.py DATA --out docs/results/labelled_data.json
    python benchmarks/labelled_data.py --out docs/results/labelled_data.json --figure FIGURE.png

With names of sets (`--sets bfi nci60`) or builders (`--builders haar ward`) only these are measured; results
of others that `--out` holds stay. Without DATA the table and the figure are made from `--out`. Seconds are
those that processors worked.
"""

import argparse
import hashlib
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from coupled_trees import coupled_trees
from labelled_sets import SETS
from scipy.cluster.hierarchy import linkage
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import squareform

import haarbor as hb
from haarbor.trees import DEFAULT_RESTRAINT, adjusted_mutual_information, halved_tree

# Every set is drawn anew so often: other orders, other persons and pixels, other halves to hold out. bfi
# varies most, as its items are few. The coupled trees take minutes, so they get the first draw only.
N_DRAWS = {"bfi": 5}
USUAL_DRAWS, COUPLED_DRAWS = 3, 1
ENGINE = hb.CpuEngine(threads=1)


def rows_of(X, axes, axis):
    place = axes.index(axis)
    return np.moveaxis(X, place, 0).reshape(X.shape[place], -1)


def organized(**options):
    def build(X, axes, needed):
        trees = hb.organize(X, axes, engine=ENGINE, **options).trees
        return {axis: trees[axis] for axis in needed}

    return build


def large_axis_first(X, axes, needed):
    """Haar trees that start from one of the largest axis, fitted to the order trees of the others."""
    largest = axes[int(np.argmax(X.shape))]
    plain = {axis: halved_tree(n) for axis, n in zip(axes, X.shape, strict=True) if axis != largest}
    rows = rows_of(hb.haar_transform(X, plain, axes), axes, largest)
    start = {largest: hb.haar_tree(rows, engine=ENGINE)}
    trees = hb.organize(X, axes, tree="haar", start=start, engine=ENGINE).trees
    return {axis: trees[axis] for axis in needed}


def from_two_starts(X, axes, needed):
    """Haar trees from the order trees, and from Haar trees of the slices as they are: the lower objective."""
    order = {axis: halved_tree(n) for axis, n in zip(axes, X.shape, strict=True)}
    slices = {axis: hb.haar_tree(rows_of(X, axes, axis), engine=ENGINE) for axis in axes}
    start_norm = hb.haar_l1(X, order, axes)
    found = []
    for start in (order, slices):
        trees = hb.organize(X, axes, tree="haar", start=start, engine=ENGINE).trees
        depth = sum(tree.relative_depth for tree in trees.values())
        found.append((hb.haar_l1(X, trees, axes) / start_norm + DEFAULT_RESTRAINT * depth, trees))
    trees = min(found, key=lambda pair: pair[0])[1]
    return {axis: trees[axis] for axis in needed}


def on_slices(method):
    """Linkage of scipy on the slices as they are, by Euclidean distance."""

    def build(X, axes, needed):
        return {a: hb.PartitionTree.from_linkage(linkage(rows_of(X, axes, a), method)) for a in needed}

    return build


def on_emd(method):
    """Linkage of scipy on the distances along the trees of a flexible questionnaire."""

    def build(X, axes, needed):
        trees = questionnaire_trees(X, axes)
        found = {}
        for axis in needed:
            others = {name: tree for name, tree in trees.items() if name != axis}
            distances = hb.tree_emd(X, others, axes, engine=ENGINE)
            found[axis] = hb.PartitionTree.from_linkage(linkage(squareform(distances, checks=False), method))
        return found

    return build


_QUESTIONNAIRES = {}


def flexible(X, axes, needed):
    """Trees of a flexible questionnaire, all of which are kept for the builders that begin with them."""
    trees = hb.organize(X, axes, engine=ENGINE).trees
    _QUESTIONNAIRES[hashlib.sha256(X.tobytes()).hexdigest()] = trees
    return {axis: trees[axis] for axis in needed}


def questionnaire_trees(X, axes):
    key = hashlib.sha256(X.tobytes()).hexdigest()
    if key not in _QUESTIONNAIRES:
        flexible(X, axes, axes)
    return _QUESTIONNAIRES[key]


def coupled(filtered):
    def build(X, axes, needed):
        (axis,) = needed
        return {axis: coupled_trees(rows_of(X, axes, axis), filtered=filtered)[0]}

    return build


BUILDERS = {
    "flexible": flexible,
    "binary": organized(tree="binary"),
    "haar": organized(tree="haar"),
    "haar, unrestrained": organized(tree="haar", restraint=0.0),
    # These two were added after a first look at results: where the loop begins can be a trap.
    "haar, large axis first": large_axis_first,
    "haar, two starts": from_two_starts,
    "ward": on_slices("ward"),
    "average": on_slices("average"),
    "ward on EMD": on_emd("ward"),
    "average on EMD": on_emd("average"),
    "coupled": coupled(False),
    "coupled, filtered": coupled(True),
}
CO_CLUSTERING = "spectral co-clustering"


def co_clusters(X, n_clusters):
    """Clusters of the rows by spectral co-clustering (Dhillon, 2001), entries counted from the least."""
    weights = X - min(X.min(), 0.0)
    rows, columns = np.sqrt(weights.sum(axis=1)), np.sqrt(weights.sum(axis=0))
    rows[rows == 0] = columns[columns == 0] = 1
    n_vectors = int(np.ceil(np.log2(n_clusters)))
    left, _, right = np.linalg.svd(weights / np.outer(rows, columns), full_matrices=False)
    points = np.vstack(
        [left[:, 1 : n_vectors + 1] / rows[:, None], right[1 : n_vectors + 1].T / columns[:, None]]
    )
    best, least = None, np.inf
    with warnings.catch_warnings():
        # A cluster may be empty; then there are fewer.
        warnings.simplefilter("ignore", UserWarning)
        for seed in range(10):
            centres, found = kmeans2(points, n_clusters, minit="++", rng=np.random.default_rng(seed))
            spread = ((points - centres[found]) ** 2).sum()
            if spread < least:
                best, least = found, spread
    return best[: len(X)]


def cut(tree, rows, n_folders):
    """Partition into at least `n_folders`: always the split that takes away most of the sum of squares."""
    levels, offsets = tree.levels, tree.level_offsets
    means = {}

    def items(folder):
        level = tree.level_of(folder)
        return np.flatnonzero(levels[level] == folder - offsets[level])

    def children(folder):
        below = tree.children(folder)
        while len(below) == 1:
            below = tree.children(int(below[0]))
        return [int(child) for child in below]

    def mean(folder):
        if folder not in means:
            means[folder] = rows[items(folder)].mean(axis=0)
        return means[folder]

    def gain(folder):
        if tree.sizes[folder] == 1:
            return -1.0
        return sum(
            tree.sizes[child] * ((mean(child) - mean(folder)) ** 2).sum() for child in children(folder)
        )

    gains = {0: gain(0)}
    while len(gains) < n_folders and max(gains.values()) >= 0:
        folder = max(gains, key=gains.get)
        del gains[folder]
        gains |= {child: gain(child) for child in children(folder)}
    partition = np.empty(tree.n_items, dtype=int)
    for folder in gains:
        partition[items(folder)] = folder
    return partition


def agreement(tree, rows, labels):
    n_labels = len(set(labels.tolist()))
    folders = tree.levels.max(axis=1) + 1
    values = [adjusted_mutual_information(level, labels) for level in tree.levels]
    return {
        "best level": max(values),
        "nearest level": values[int(np.argmin(np.abs(folders - n_labels)))],
        "cut": adjusted_mutual_information(cut(tree, rows, n_labels), labels),
    }


def coherence(data, draw, build, needed):
    """Trees from half of the held-out axis, on the other half: l1 norm on order trees over that on them."""
    place = data.axes.index(data.held_out)
    n = data.X.shape[place]
    order = np.random.default_rng([draw, 1]).permutation(n)
    halves = [np.take(data.X, np.sort(part), axis=place) for part in (order[: n // 2], order[n // 2 :])]
    found = []
    for seen, other in (halves, halves[::-1]):
        trees = build(np.ascontiguousarray(seen), data.axes, needed)
        plain = {axis: halved_tree(size) for axis, size in zip(data.axes, other.shape, strict=True)}
        norm = hb.haar_l1(other, plain, data.axes)
        found.append(norm / hb.haar_l1(other, {**plain, **trees}, data.axes))
    return float(np.mean(found))


def measured(data, draw, name):
    """Result of one builder on one draw of a set."""
    needed = (data.labelled,) if data.labelled else tuple(a for a in data.axes if a != data.held_out)
    rows = rows_of(data.X, data.axes, needed[0])
    begin = time.process_time()
    if name == CO_CLUSTERING:
        found = co_clusters(rows, len(set(data.labels.tolist())))
        seconds = time.process_time() - begin
        return {"cut": adjusted_mutual_information(found, data.labels), "seconds": seconds}
    build = BUILDERS[name]
    trees = build(data.X, data.axes, needed)
    result = {
        "seconds": time.process_time() - begin,
        "depth": float(np.mean([tree.relative_depth for tree in trees.values()])),
        "coherence": coherence(data, draw, build, needed),
    }
    if data.labels is not None:
        result |= agreement(trees[data.labelled], rows, data.labels)
    return result


def measure(draws, asked):
    """Results of the builders that are asked for on one set, a list over the draws for each figure."""
    data = draws[0]
    results = {}
    for name in asked:
        if data.labels is None and (name == CO_CLUSTERING or name.startswith("coupled")):
            continue
        number = COUPLED_DRAWS if name.startswith("coupled") else len(draws)
        each = [measured(drawn, draw, name) for draw, drawn in enumerate(draws[:number])]
        results[name] = {key: [one[key] for one in each] for key in each[0]}
        report(name, results[name])
    n_labels = None if data.labels is None else len(set(data.labels.tolist()))
    return {"name": data.name, "shape": list(data.X.shape), "labels": n_labels, "builders": results}


def report(name, result):
    told = "  ".join(f"{key} {np.mean(values):.3f} ± {spread(values):.3f}" for key, values in result.items())
    print(f"  {name:24s} {told}", file=sys.stderr, flush=True)


def spread(values):
    """Standard deviation over draws; 0 for one draw."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


COLUMNS = ("best level", "nearest level", "cut", "coherence", "depth", "seconds")


def table(results):
    """All results as tables in Markdown, means over draws ± standard deviations."""
    lines = []
    for result in results.values():
        shape = " x ".join(map(str, result["shape"]))
        told = f"{result['name']}, {shape}" + (f", {result['labels']} labels" if result["labels"] else "")
        columns = [key for key in COLUMNS if any(key in found for found in result["builders"].values())]
        lines += ["", f"| {told} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
        for name, found in result["builders"].items():
            lines.append(f"| {name} | " + " | ".join(cell(key, found) for key in columns) + " |")
    return "\n".join(lines[1:])


def cell(key, found):
    values = found.get(key)
    if values is None:
        return ""
    if key == "seconds":
        # The first of the draws may have waited for the compiler.
        return f"{np.median(values):.2g}"
    mean = float(np.mean(values))
    if key == "depth":
        return f"{mean:.1f}"
    digits = 3 if key == "coherence" else 2
    return f"{mean:.{digits}f}" + (f" ± {spread(values):.{digits}f}" if len(values) > 1 else "")


def draw(results, path):
    """Agreement of the best level and of the cut, and the lead in held-out coherence over Ward's linkage."""
    from matplotlib.figure import Figure

    marks = {
        "flexible": ("s", "#888888"), "binary": ("D", "#888888"), "haar": ("o", "#0072b2"),
        "haar, unrestrained": ("o", "#56b4e9"), "haar, large axis first": ("p", "#000000"),
        "haar, two starts": ("h", "#555555"),
        "ward": ("^", "#d55e00"), "average": ("v", "#d55e00"),
        "ward on EMD": ("^", "#e69f00"), "average on EMD": ("v", "#e69f00"), "coupled": ("P", "#009e73"),
        "coupled, filtered": ("X", "#009e73"), CO_CLUSTERING: ("*", "#cc79a7"),
    }  # fmt: skip
    figure = Figure(figsize=(8.6, 6.4), layout="constrained")
    panels = figure.subplots(3, 1, gridspec_kw={"height_ratios": (1, 1, 1)})
    keys = ("best level", "cut", "coherence")
    titles = ("agreement, best level", "agreement, cut", "held-out coherence\nbeyond that of ward, %")
    for panel, key, title in zip(panels, keys, titles, strict=True):
        shown = [r for r in results.values() if key == "coherence" or r["labels"]]
        for column, result in enumerate(shown):
            names = [name for name in marks if key in result["builders"].get(name, {})]
            for name in names:
                values = np.array(result["builders"][name][key])
                if key == "coherence":
                    # Draw by draw: sets and halves differ more than builders do.
                    values = 100 * (values / result["builders"]["ward"][key][: len(values)] - 1)
                shift = (list(marks).index(name) - (len(marks) - 1) / 2) * 0.065
                mark, colour = marks[name]
                panel.errorbar(
                    column + shift, np.mean(values), spread(values), fmt=mark, color=colour, markersize=5,
                    elinewidth=0.8, label=name,
                )  # fmt: skip
        panel.set_xticks(range(len(shown)), [r["name"] for r in shown], fontsize=8)
        panel.set_ylabel(title, fontsize=8)
        panel.tick_params(axis="y", labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", linewidth=0.4, alpha=0.5)
        for edge in range(1, len(shown)):
            panel.axvline(edge - 0.5, color="#cccccc", linewidth=0.6)
    panels[2].axhline(0, color="black", linewidth=0.6)
    handles, labels = {}, list(marks)
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        [handles[name] for name in labels if name in handles],
        [name for name in labels if name in handles],
        loc="outside lower center", ncols=4, frameon=False, fontsize=8,
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=tuple(SETS))
    names = (*BUILDERS, CO_CLUSTERING)
    parser.add_argument("--builders", nargs="+", choices=names, default=names)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    if asked.data is not None:
        # Compiled code is loaded before anything is timed.
        for build in BUILDERS.values():
            build(np.random.default_rng(0).random((6, 5)), ("row", "column"), ("row",))
        for name in asked.sets:
            draws = [SETS[name](asked.data, draw) for draw in range(N_DRAWS.get(name, USUAL_DRAWS))]
            print(f"{draws[0].name}, {draws[0].X.shape}", file=sys.stderr, flush=True)
            found = measure(draws, asked.builders)
            known = {**results.get(name, {}).get("builders", {}), **found["builders"]}
            found["builders"] = {builder: known[builder] for builder in names if builder in known}
            results[name] = found
            results = {name: results[name] for name in SETS if name in results}
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            asked.out.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))
    if asked.figure is not None:
        draw(results, asked.figure)


if __name__ == "__main__":
    main()
