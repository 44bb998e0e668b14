"""Which heads can go, by the distances and the head tree of each builder, on the embedded networks.

The scores `redundancy` and `folders` remove heads that are alike by the organised attention. Here the
attention of the same calibration samples is organised with flexible, binary and Haar trees, and the loss
without a share of the heads is measured, the rest of each layer refitted.

    python benchmarks/pruning_by_trees.py transformer-xl --wikitext WIKITEXT
    python benchmarks/pruning_by_trees.py vision-transformer --cifar CIFAR

WIKITEXT holds {train,valid,test}.txt.xz, CIFAR the mosaic test.jpg and labels.npz.
"""

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from pruning_networks import NETWORKS, Places

import haarbor as hb
from haarbor.pruning import calibration_pass, damage_curves

BUILDERS = ("flexible", "binary", "haar")
SHARES = (0.1, 0.3)
SCORES = ("redundancy", "folders")


class Organized:
    """In the place of `organize`: every tensor by each builder, what pruning asks for kept of all of them."""

    def __init__(self):
        self.distances = {builder: [] for builder in BUILDERS}
        self.rows = []

    def __call__(self, tensor, axes, **options):
        """Organise a tensor by each builder; gives what flexible trees give."""
        found = {builder: hb.organize(tensor, axes, tree=builder, **options) for builder in BUILDERS}
        for builder, one in found.items():
            affinity = np.maximum(one.affinities["head"], np.finfo(float).tiny)
            self.distances[builder].append(-np.log(affinity))
        trees = found["haar"].trees
        expanded = hb.haar_transform(tensor, {axis: trees[axis] for axis in ("query", "key")}, axes)
        self.rows.append(np.moveaxis(expanded, -1, 0).reshape(tensor.shape[-1], -1).astype(np.float32))
        return found["flexible"]

    def head_tree(self, builder):
        """Function from an affinity to the head tree of all samples; Haar trees do not need it."""
        if builder == "haar":
            tree = hb.haar_tree(np.concatenate(self.rows, axis=1))
            return lambda affinity: tree
        return partial(hb.build_tree, tree=builder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=("transformer-xl", "vision-transformer"))
    parser.add_argument("--wikitext", type=Path)
    parser.add_argument("--cifar", type=Path)
    parser.add_argument("--calibration", type=int, default=6)
    parser.add_argument("--evaluation", type=int, default=8)
    asked = parser.parse_args()
    places = Places(networks=None, wikitext=asked.wikitext, cifar=asked.cifar, data=None, model=None)
    case = NETWORKS[asked.name](places, n_calibration=asked.calibration, n_evaluation=asked.evaluation)
    organized = Organized()
    with patch("haarbor.pruning._attention_statistics.organize", organized):
        found = calibration_pass(case.model, case.calibration, parts=("attention",), metric=case.metric)
    settings = {"evaluation": case.evaluation, "shares": SHARES, "metric": case.metric, "n_seeds": 3}
    for builder in BUILDERS:
        distances = np.mean(organized.distances[builder], axis=0)
        parts = {**found.parts, "attention": replace(found.attention, distances=distances)}
        scores = (*SCORES, "random") if builder == BUILDERS[0] else SCORES
        with patch("haarbor.pruning._redundancy.build_tree", organized.head_tree(builder)):
            curves = damage_curves(case.model, replace(found, parts=parts), scores=scores, **settings)
        if builder == BUILDERS[0]:
            base = curves.baseline.value
            print(f"{asked.name}: {case.metric.name} {base:.3f} with all heads; without {SHARES} of them")
        for score in scores:
            pairs = zip(curves.value(score), curves.standard_error(score), strict=True)
            told = "  ".join(f"{value:.3f} ± {error:.3f}" for value, error in pairs)
            print(f"  {score:12s} {'' if score == 'random' else builder:10s} {told}", flush=True)


if __name__ == "__main__":
    main()
