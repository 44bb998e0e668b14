"""A made-up pruning study of a network of 3 layers with 4 heads, for what keeps and shows such studies."""

import numpy as np

from haarbor.analysis import PruningResults


def pruning_results(**changed):
    rng = np.random.default_rng(3)
    names = ("leftover", "gradient", "h400", "random")
    shares = np.array([1, 2, 4, 6]) / 12
    fields = {
        "model": "made up",
        "data": "some text; 4 samples to calibrate, 8 to measure",
        "metric": "loss",
        "baseline": 3.0,
        "higher_is_better": False,
        "within": "network",
        "replacement": "refit",
        "layers": np.repeat(np.arange(3), 4),
        "shares": shares,
        "n_removed": np.array([1, 2, 4, 6]),
        "damages": {name: (place + 1) * shares**2 for place, name in enumerate(names)},
        "errors": {name: np.full(4, 0.02) for name in names},
        "removed": {name: np.isin(np.arange(12), rng.permutation(12)[:4]) for name in names},
        "place": 2,
        "score": "leftover",
        "equals": ("gradient",),
        "agreement": {"leftover": 0.93, "gradient": 0.31, "h400": float("nan")},
        "sentences": ("Remove 4 of 12 heads (33.3 %) by 'leftover'.", "The two halves disagree."),
    }
    return PruningResults(**{**fields, **changed})


HEALED = {
    "steps": 20.0,
    "trained": 100.0,
    "damage": 0.05,
    "error": 0.01,
    "damage_before": 0.111,
    "error_before": 0.02,
}
