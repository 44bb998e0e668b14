"""What compares runs: compare_runs, and training_film."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import haarbor as hb
from faults.hostile_settings import spoilt_choice, spoilt_seed, spoilt_whole_number
from faults.spoilt import Spoilt, one_of
from faults.stored_sample import without_waiting, write_sample
from faults.subject import Call, subject

Rng = np.random.Generator


@functools.cache
def _runs() -> tuple[Any, Any]:
    without_waiting()
    one, two = (hb.open_run(write_sample(Path.cwd() / f"compared-{name}.zarr")) for name in ("one", "two"))
    return one, two


def _spoilt_runs(rng: Rng, good: Any) -> Spoilt:
    wrong = (
        None,
        5,
        "run.zarr",
        [],
        [good[0]],
        [good[0], None],
        [good[0], "x"],
        good[0],
        {1: 2},
        [[]],
        object(),
    )
    return Spoilt("odd runs", one_of(rng, wrong), "refused")


@subject("compare_runs")
def compare_runs(rng: Rng) -> Call:
    """A copy of a run is at distance 0, every head at its place."""

    def compared(**given: Any) -> Any:
        (pair,) = hb.compare_runs(**given, keep=False).pairs
        return {"distance": pair.distance, "pairs": pair.pairs, "p": pair.test.p_value}

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        kept = answer["distance"] == 0 and (answer["pairs"][:, 0] == answer["pairs"][:, 1]).all()
        return None if kept and 0 < answer["p"] <= 1 else f"a copy is another network: {answer}"

    odd_names = (5, "ab", ["a"], ["a", 5], {}, [None, None])
    return Call(
        function=compared,
        arguments={
            "runs": list(_runs()),
            "names": ["a", "b"],
            "content": one_of(rng, ("probabilities", "logits")),
            "stream": "decoder",
            "matching": "tokens",
            "n_batches": 2,
            "n_permutations": int(rng.integers(1, 20)),
            "seed": int(rng.integers(0, 100)),
        },
        spoil={
            "runs": _spoilt_runs,
            "names": lambda rng, good: Spoilt("odd names", one_of(rng, odd_names), "refused"),
            "content": lambda rng, good: spoilt_choice(rng, good, optional=True),
            "stream": lambda rng, good: spoilt_choice(rng, good, optional=True),
            "matching": spoilt_choice,
            "n_batches": lambda rng, good: Spoilt(
                "an odd number", one_of(rng, (0, -1, 1.5, "2", None, True, [2], np.nan)), "refused"
            ),
            "n_permutations": lambda rng, good: Spoilt(
                "an odd number", one_of(rng, (0, -1, 1.5, "2", None, True, [2], np.inf)), "refused"
            ),
            "seed": spoilt_seed,
        },
        law=law,
    )


@subject("training_film")
def training_film(rng: Rng) -> Call:
    """Checkpoints that are copies do not move."""

    def followed(**given: Any) -> Any:
        film = hb.training_film(**given, keep=False)
        return {"distances": film.distances_to_last, "entropies": film.entropies, "steps": film.steps}

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        still = (answer["distances"] == 0).all() and (answer["entropies"][0] == answer["entropies"][1]).all()
        return None if still else "copies of a checkpoint differ"

    odd_steps = (5, "12", [1], [2, 1], [1, 1], [None, 1], [np.nan, 1], [-1, 0], ["a", "b"], [0, np.inf])
    return Call(
        function=followed,
        arguments={
            "runs": list(_runs()),
            "steps": [0, 1 + int(rng.integers(0, 100))],
            "content": one_of(rng, ("probabilities", "logits")),
            "stream": "decoder",
            "n_batches": 1,
            "seed": int(rng.integers(0, 100)),
        },
        spoil={
            "runs": _spoilt_runs,
            "steps": lambda rng, good: Spoilt("odd steps", one_of(rng, odd_steps), "refused"),
            "content": lambda rng, good: spoilt_choice(rng, good, optional=True),
            "stream": lambda rng, good: spoilt_choice(rng, good, optional=True),
            "n_batches": spoilt_whole_number,
            "seed": spoilt_seed,
        },
        law=law,
    )
