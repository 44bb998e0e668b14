"""Where Haarbor places a head whose job is known: the atom-mapping head of RXNMapper (layer 10, head 5).

RXNMapper is an ALBERT trained on reaction SMILES, in which one head of the 96 attends from product
atoms to the reactant atoms they come from. This captures and organises the model on the reactions
in reactions.txt and prints the head's rank by every score.

    python tests/real/fetch_networks.py FOLDER
    python examples/rxnmapper_heads.py FOLDER/rxnmapper [TREE.png]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import haarbor as hb
from haarbor.analysis import organize_run
from haarbor.capturing import capture, load_model
from haarbor.capturing.inputs import text_samples

LAYER, HEAD = 10, 5


def element_match(tensor, labels):
    """For each head: share of product atoms whose most attended reactant atom is of the same element."""
    arrow = labels.index(">>")
    atoms = [
        place for place, label in enumerate(labels) if label.strip("[]").isalnum() and not label.isdigit()
    ]
    product = [place for place in atoms if place > arrow]
    reactant = [place for place in atoms if place < arrow]
    chosen = np.asarray(tensor)[np.ix_(product, reactant)].argmax(axis=1)
    elements = np.array([label.upper() for label in labels])
    return (elements[np.array(reactant)][chosen] == elements[np.array(product)][:, None]).mean(axis=0)


def rank(values, head):
    """Place of a head when all are sorted from high to low, counted from 1."""
    return int((np.asarray(values) > values[head]).sum()) + 1


def main():
    loaded = load_model(Path(sys.argv[1]))
    reactions = Path(__file__).with_name("reactions.txt")
    samples = text_samples(reactions, loaded.tokenizer, n_tokens=48, takes=loaded.takes, split="lines")
    with tempfile.TemporaryDirectory() as folder:
        run = capture(loaded.model, samples, Path(folder) / "run")
        found = organize_run(run)
        matches = []
        for batch in run.batches:
            valid = run.mask(batch).any(axis=1)
            labels = [label for label, ok in zip(run.labels(batch).query, valid, strict=True) if ok]
            tensor = np.asarray(run.tensor(batch))[np.ix_(valid, valid)]
            matches.append(element_match(tensor, labels))
    head = LAYER * run.heads_per_layer + HEAD
    match = np.mean(matches, axis=0)
    entropies = found.head_entropies
    distances = found.consensus.distances
    others = distances + np.diag(np.full(len(distances), np.inf))
    scores = {
        "same element attended (a check, not a Haarbor score)": match,
        "Haar entropy, raw": np.mean([e.raw for e in entropies], axis=0),
        "Haar entropy over norm": np.mean([e.normalised for e in entropies], axis=0),
        "Haar entropy, mean removed": np.mean([e.mean_removed for e in entropies], axis=0),
        "all scales l1": np.mean([e.all_scales for e in entropies], axis=0),
        "fine-scale share": np.mean([e.fine_share for e in entropies], axis=0),
        "energy share of coarse functions": np.mean([e.energy_share for e in entropies], axis=0),
        "mean distance to the other heads": distances.mean(axis=1),
        "distance to the nearest head": others.min(axis=1),
    }
    print(f"head {LAYER}.{HEAD} of {len(match)}, {len(matches)} reactions")
    for name, values in scores.items():
        print(f"  {name}: {values[head]:.3f}, rank {rank(values, head)} of {len(values)} "
              f"(median {np.median(values):.3f})")  # fmt: skip
    nearest = np.argsort(others[head])[:5]
    print(
        "  nearest heads: "
        + ", ".join(f"{i // run.heads_per_layer}.{i % run.heads_per_layer}" for i in nearest)
    )
    tree = found.consensus.tree
    for level in range(tree.n_levels - 1, -1, -1):
        folder_items = next(items for items in tree.folders(level) if head in items)
        names = " ".join(f"{i // run.heads_per_layer}.{i % run.heads_per_layer}" for i in folder_items[:12])
        more = " ..." if len(folder_items) > 12 else ""
        print(f"  consensus tree, level {level}: {len(folder_items)} heads: {names}{more}")
    if len(sys.argv) > 2:
        from haarbor.plots import save_figure, tree_figure

        order = tree.leaf_order(np.round(hb.markov_spectrum(found.consensus.affinity).eigenvectors[:, 1], 10))
        title = "Heads of RXNMapper, consensus of 12 reactions"
        save_figure(tree_figure(tree, order=order, head_layers=run.head_layers, title=title), sys.argv[2])
    best = np.argsort(-match)[:5]
    print("  heads that match elements best: " + ", ".join(
        f"{i // run.heads_per_layer}.{i % run.heads_per_layer} ({match[i]:.2f})" for i in best))  # fmt: skip


if __name__ == "__main__":
    main()
