"""What the trees of each builder are good for, measured on runs of trained networks.

For every run, and for probabilities and logits: coherence on heads and batches that the trees have not seen;
the energy in the largest coefficients; how stable head trees and entropies are over batches; whether heads
that are known to be alike lie together; and what entropies by support mean on deep trees.

    haarbor capture NETWORK --data DATA --out RUN.zarr --logits --batches 4 --tokens 128 --dtype float16
    python benchmarks/what_trees_buy.py RUN.zarr ... --out docs/results/what_trees_buy.json
    python benchmarks/what_trees_buy.py --out docs/results/what_trees_buy.json

Without runs the tables are made from `--out`. Results of other runs that `--out` holds stay.
"""

import argparse
import itertools
import json
import time
from pathlib import Path

import numpy as np

import haarbor as hb
from haarbor.analysis import classical_trees, held_out_coherence, rank_correlation, valid_tokens
from haarbor.trees import halved_tree, tree_distances
from haarbor.wavelets import haar_system, largest_products, ranking_stability

AXES = ("query", "key", "head")
CONTENTS = ("probabilities", "logits")
SHARES = (0.001, 0.01, 0.05)
N_COPIES, NOISE = 8, (0.1, 0.3)
# Heads of a kind give so much of a query's weight, on average, to the token before, or to the first one.
MUCH = 0.5
# Head 5 of RXNMapper matches atoms; the layers share their weights, and it does so in these.
MATCHERS = [layer * 8 + 5 for layer in (1, *range(3, 12))]


def order_trees(X):
    return {axis: halved_tree(n) for axis, n in zip(AXES, X.shape, strict=True)}


def organized(**options):
    return lambda X: hb.organize(X, AXES, **options).trees


BUILDERS = {
    "haar": organized(tree="haar"),
    "haar, restraint 0": organized(tree="haar", restraint=0.0),
    "flexible": organized(tree="flexible"),
    "binary": organized(tree="binary"),
    "average": lambda X: classical_trees(X, AXES, "average"),
    "ward": lambda X: classical_trees(X, AXES, "ward"),
    "order": order_trees,
}


def energies(X, trees):
    """Share of the energy in the largest coefficients, by share of all coefficients."""
    squares = np.sort(hb.haar_transform(X, trees, AXES).ravel().astype(float) ** 2)[::-1]
    sums = np.cumsum(squares)
    return [float(sums[max(1, round(share * sums.size)) - 1] / sums[-1]) for share in SHARES]


def agreement(trees):
    """Rank correlation of the tree distances of all pairs of heads, mean over pairs of batches."""
    pairs = np.triu_indices(trees[0].n_items, 1)
    distances = [tree_distances(tree)[pairs] for tree in trees]
    values = [rank_correlation(one, other) for one, other in itertools.combinations(distances, 2)]
    return float(np.nanmean(values))


def best_overlap(folders, group):
    """Largest Jaccard index of a folder with a group of items."""
    wanted = set(group)
    return max(len(folder & wanted) / len(folder | wanted) for folder in folders)


def found_group(tree, group):
    """Best overlap with a group, and with random ones of its size on average."""
    folders = {frozenset(folder.tolist()) for level in tree for folder in level}
    rng = np.random.default_rng(0)
    random = [rng.permutation(tree.n_items)[: len(group)].tolist() for _ in range(30)]
    return [best_overlap(folders, group), float(np.mean([best_overlap(folders, one) for one in random]))]


def copies_found(X, build, noise):
    """Share of copied and perturbed heads that lie in one folder with their original and no other head."""
    rng = np.random.default_rng(1)
    chosen = rng.permutation(X.shape[2])[:N_COPIES]
    copies = X[:, :, chosen] * (1 + noise * rng.normal(size=(*X.shape[:2], N_COPIES))).astype(X.dtype)
    tree = build(np.concatenate([X, copies], axis=2))["head"]
    common = tree_distances(tree)[chosen, X.shape[2] + np.arange(N_COPIES)] * tree.n_items
    return float((np.round(common) == 2).mean())


def heads_of_a_kind(probabilities):
    """Heads that look at the token before, and those that look at the first token, by name."""
    before = np.mean(
        [np.diagonal(X, -1, axis1=0, axis2=1).sum(axis=1) / (X.shape[0] - 1) for X in probabilities], axis=0
    )
    first = np.mean([X[1:, 0].mean(axis=0) for X in probabilities], axis=0)
    kinds = {"token before": np.flatnonzero(before > MUCH), "first token": np.flatnonzero(first > MUCH)}
    n_heads = before.size
    return {name: heads.tolist() for name, heads in kinds.items() if 2 < heads.size < n_heads // 2}


def smaller_parts(trees):
    """Of the 400 products of largest support: mean share that the smaller part of a split has."""
    systems = [haar_system(trees[axis]) for axis in ("query", "key")]
    chosen = largest_products(systems, 400).chosen
    shares = []
    for system, column in zip(systems, chosen.T, strict=True):
        split = column[column > 0]
        smaller = np.minimum(system.positive_sizes, system.negative_sizes)[split]
        shares.append(smaller / system.supports[split])
    return float(np.concatenate(shares).mean())


def entropies(tensors, trees):
    found = [hb.head_entropy(X, each) for X, each in zip(tensors, trees, strict=True)]
    return {
        "h400": np.array([one.normalised for one in found]),
        "all scales": np.array([one.all_scales / one.norm for one in found]),
    }


def measured(tensors, groups):
    """All figures of all builders for the tensors of one content."""
    results, by_builder, coherence = {}, {}, {}
    for name, build in BUILDERS.items():
        begin = time.process_time()
        whole = {}

        def kept(X, build=build, whole=whole):
            trees = build(X)
            if X.shape[2] == tensors[0].shape[2]:
                whole[len(whole)] = trees
            return trees

        found = coherence[name] = held_out_coherence(tensors, kept)
        trees = by_builder[name] = [whole[place] for place in range(len(tensors))]
        heads = [each["head"] for each in trees]
        entropy = entropies(tensors, trees)
        results[name] = {
            "heads": [found.mean_heads, found.error_heads],
            "batches": [found.mean_batches, found.error_batches],
            "lead in heads": found_lead(coherence, name, "heads"),
            "lead in batches": found_lead(coherence, name, "batches"),
            "depth": {axis: float(values.mean()) for axis, values in found.depth.items()},
            "energy": np.mean([energies(X, t) for X, t in zip(tensors, trees, strict=True)], axis=0).tolist(),
            "tree agreement": agreement(heads),
            "copies": [copies_found(tensors[0], build, noise) for noise in NOISE],
            "groups": {
                kind: np.mean([found_group(tree, group) for tree in heads], axis=0).tolist()
                for kind, group in groups.items()
            },
            "tau": {kind: ranking_stability(values).mean_kendall_tau for kind, values in entropy.items()},
            "smaller part": float(np.mean([smaller_parts(each) for each in trees])),
            "as on order trees": {},
            "seconds": time.process_time() - begin,
        }
        print(f"  {name:20s} {found}  {results[name]['seconds']:.0f} s", flush=True)
        if name == "order":
            plain = entropy
    for name, trees in by_builder.items():
        for kind, values in entropies(tensors, trees).items():
            ranks = [rank_correlation(one, other) for one, other in zip(values, plain[kind], strict=True)]
            results[name]["as on order trees"][kind] = float(np.mean(ranks))
    return results


def found_lead(coherence, name, of):
    """Lead of Haar trees over a builder on the same splits, with its standard error."""
    return list(coherence["haar"].lead_over(coherence[name], of))


def measured_run(place, n_batches):
    run = hb.open_run(place)
    chosen = run.batches[:n_batches]
    result = {"heads": run.n_heads, "batches": len(chosen), "groups": {}, "contents": {}}
    for content in CONTENTS:
        part = run.part(content)
        tensors = [valid_tokens(part.tensor(batch), part.mask(batch)).filled(content) for batch in chosen]
        if content == "probabilities":
            groups = heads_of_a_kind(tensors)
            if place.stem == "rxnmapper":
                groups["atom matcher"] = MATCHERS
            result["groups"] = {kind: len(group) for kind, group in groups.items()}
            result["shape"] = list(tensors[0].shape)
        print(f"{place.stem}, {content}, {tensors[0].shape}, {result['groups']}", flush=True)
        result["contents"][content] = measured(tensors, groups)
    return result


def with_error(pair, sign=""):
    return f"{pair[0]:{sign}.3f} ± {pair[1]:.3f}"


def several(values):
    return ", ".join(f"{value:.2f}" for value in values)


def groups_text(one):
    return "; ".join(f"{kind} {best:.2f} ({chance:.2f})" for kind, (best, chance) in one["groups"].items())


TABLES = {
    "heads": ("held-out heads", lambda one: with_error(one["heads"])),
    "batches": ("next batch", lambda one: with_error(one["batches"])),
    "depth": ("depth of query, key and head trees", lambda one: several(one["depth"].values())),
    "energy": ("energy in the largest 0.1, 1, 5 %", lambda one: several(one["energy"])),
    "agreement": ("head trees of two batches", lambda one: f"{one['tree agreement']:.2f}"),
    "copies": ("copies found, noise 10 %, 30 %", lambda one: several(one["copies"])),
    "groups": ("kinds of heads", groups_text),
    "tau": ("tau of H400, all scales", lambda one: several(one["tau"].values())),
    "order": (
        "H400, all scales, as on order trees",
        lambda one: several(one["as on order trees"].values()),
    ),
    "parts": ("smaller part of a split", lambda one: f"{one['smaller part']:.2f}"),
}
# Told in the text where they say nothing of the order trees.
WITHOUT_ORDER = ("heads", "batches", "agreement", "copies", "order")
NAMES = {
    "transformer-xl": "Transformer-XL", "vit": "ViT", "smollm2": "SmolLM2", "gemma3": "Gemma 3",
    "minilm": "MiniLM", "rxnmapper": "RXNMapper", "transformer-xl-16x8": "XL 16 x 8", "vit-b16": "ViT-B",
}  # fmt: skip


def table(results, name, content):
    """One table in Markdown: a row for each builder, a column for each network."""
    title, cell = TABLES[name]
    shown = {
        network: results[network]["contents"][content]
        for network in NAMES
        if network in results and (name != "groups" or results[network]["groups"])
    }
    networks = " | ".join(NAMES[network] for network in shown)
    lines = [f"| {content}: {title} | {networks} |", "|---" * (len(shown) + 1) + "|"]
    for builder in BUILDERS:
        if builder != "order" or name not in WITHOUT_ORDER:
            cells = [cell(result[builder]) for result in shown.values()]
            lines.append(f"| {builder} | {' | '.join(cells)} |")
    if name in ("heads", "batches"):
        cells = [with_error(least_lead(result, f"lead in {name}"), "+") for result in shown.values()]
        lines.append(f"| *least lead of haar* | {' | '.join(cells)} |")
    return "\n".join(lines)


def least_lead(result, key):
    """Lead over the other builder that comes nearest, other settings of Haar trees left out."""
    others = [name for name in BUILDERS if not name.startswith("haar") and name != "order"]
    return min((result[name][key] for name in others), key=lambda pair: pair[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--batches", type=int, default=4, help="of each run, the first ones")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    results = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for place in asked.runs:
        results[place.stem] = measured_run(place, asked.batches)
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(json.dumps(results, indent=1) + "\n")
    for name, content in itertools.product(TABLES, CONTENTS):
        print(table(results, name, content), end="\n\n")


if __name__ == "__main__":
    main()
