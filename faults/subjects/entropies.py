"""Entropies of heads and network, and how far rankings agree."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from tests.reference.entropy import haar_entropy
from tests.reference.haar import haar_coefficients, haar_functions
from tests.reference.stability import extreme_sets, jaccard, kendall_tau

import haarbor as hb
from faults.answers import difference
from faults.good_values import AXES, good_tensor, good_trees, tolerance
from faults.hostile_arrays import spoilt_array
from faults.hostile_settings import (
    spoilt_axes,
    spoilt_number,
    spoilt_trees,
    spoilt_whole_number,
)
from faults.spoilt import Spoilt, one_of
from faults.subject import Call, subject

Rng = np.random.Generator
_FIELDS = ("raw", "normalised", "mean_removed", "tie_interval", "constant", "energy_share", "all_scales",
           "fine_share", "norm")  # fmt: skip


def _arguments(rng: Rng) -> dict[str, Any]:
    X = good_tensor(rng, 3, most=4)
    return {
        "X": X,
        "trees": good_trees(rng, X.shape, AXES),
        "k": int(rng.integers(1, 20)),
        "p": one_of(rng, (1, 1, 2, 0.5, 1.5)),
        "axes": AXES,
    }


def _spoil(spare: str | None = None) -> dict[str, Any]:
    """How to spoil the arguments; `spare` is an axis whose tree is not looked at."""

    def trees(rng: Rng, good: Any) -> Spoilt:
        unused = {axis: tree for axis, tree in good.items() if axis == spare}
        needed = {axis: tree for axis, tree in good.items() if axis != spare}
        found = spoilt_trees(rng, needed, spare_refused=False)
        if not isinstance(found.value, dict):
            return found
        like = None if found.like is None else {**unused, **found.like}
        return found._replace(value={**unused, **found.value}, like=like)

    return {
        "X": spoilt_array,
        "trees": trees,
        "k": spoilt_whole_number,
        "p": lambda rng, good: spoilt_number(rng, good, least=0.0),
        "axes": spoilt_axes,
    }


def _scaled(answer: Any, exponent: int) -> Any:
    """Sums of powers grow with the power, shares and normalised figures not at all."""
    with np.errstate(over="ignore", under="ignore"):
        power = np.longdouble(2.0) ** (np.longdouble(exponent) * np.longdouble(answer.p))
        single = np.longdouble(2.0) ** exponent
        grown = {
            name: _product(getattr(answer, name), power) for name in ("raw", "tie_interval", "all_scales")
        }
        grown.update({name: _product(getattr(answer, name), single) for name in ("constant", "norm")})
    return dataclasses.replace(answer, **grown)


def _product(value: Any, factor: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_product(entry, factor) for entry in value)
    grown = (np.asarray(value, dtype=np.longdouble) * factor).astype(np.float64)
    return float(grown) if isinstance(value, float) else grown


@subject("head_entropy")
def head_entropy(rng: Rng) -> Call:
    """Against all functions, all orders and all sums written out."""

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        X, trees = given["X"].astype(np.float64), given["trees"]
        listed = [haar_functions(trees[axis].levels.tolist()) for axis in ("query", "key")]
        head = int(rng.integers(X.shape[2]))
        f = X[:, :, head]
        coefficients = haar_coefficients(f, dict(enumerate(listed)))
        expected = haar_entropy(f, coefficients, listed, min(given["k"], f.size), given["p"])
        order = rng.permutation(X.shape[2])
        shuffled = hb.head_entropy(**{**given, "X": given["X"][:, :, order]})
        if not np.allclose(shuffled.raw, answer.raw[order], rtol=1e-6):
            return "the heads in another order have other entropies"
        return _first_other({name: getattr(answer, name)[head] for name in _FIELDS}, expected, X)

    arguments = _arguments(rng)
    return Call(
        function=hb.head_entropy, arguments=arguments, spoil=_spoil(spare="head"), law=law, scaled=_scaled,
        tol=1e3 * tolerance(arguments["X"]),
        rounding={"fine_share": 64 * float(np.finfo(arguments["X"].dtype).eps)},
    )  # fmt: skip


@subject("network_entropy")
def network_entropy(rng: Rng) -> Call:
    """Against all functions, all orders and all sums written out."""
    arguments = _arguments(rng)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        X = given["X"].astype(np.float64)
        if X.size > 48:
            return None
        listed = [haar_functions(given["trees"][axis].levels.tolist()) for axis in AXES]
        coefficients = haar_coefficients(X, dict(enumerate(listed)))
        k = min(given["k"], X.size, 3)
        again = hb.network_entropy(X, given["trees"], k, given["p"])
        expected = haar_entropy(X, coefficients, listed, k, given["p"])
        return _first_other({name: getattr(again, name) for name in _FIELDS}, expected, X)

    return Call(
        function=hb.network_entropy, arguments=arguments, spoil=_spoil(), law=law, scaled=_scaled,
        tol=1e3 * tolerance(arguments["X"]),
    )  # fmt: skip


def _first_other(found: Mapping[str, Any], expected: Mapping[str, Any], X: Any) -> str | None:
    # float32 input is transformed in float32.
    for name in _FIELDS:
        one, other = np.asarray(found[name], dtype=float), np.asarray(expected[name], dtype=float)
        if not np.allclose(one, other, rtol=1e-3, atol=1e-3 * max(1.0, float(np.abs(X).max()))):
            return f"{name} is {one} in place of {other}"
    return None


@subject("ranking_stability")
def ranking_stability(rng: Rng) -> Call:
    """Against sets, overlaps and pairs counted one by one."""
    scores = rng.normal(size=(int(rng.integers(1, 5)), int(rng.integers(1, 9))))
    if rng.random() < 0.3:
        scores = np.round(scores)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        table = given["scores"].tolist()
        sets = [extreme_sets(row, answer.set_size) for row in table]
        n_batches = len(table)
        overlap = [[jaccard(sets[i][0], sets[j][0]) for j in range(n_batches)] for i in range(n_batches)]
        tau = [[kendall_tau(table[i], table[j]) for j in range(n_batches)] for i in range(n_batches)]
        return difference(answer.top_jaccard, np.array(overlap), tol=1e-12) or difference(
            answer.kendall_tau, np.array(tau), tol=1e-12
        )

    return Call(
        function=hb.ranking_stability,
        arguments={"scores": scores, "fraction": float(rng.uniform(0.05, 1.0))},
        spoil={
            "scores": spoilt_array,
            "fraction": lambda rng, good: spoilt_number(rng, good, least=0.0),
        },
        law=law,
        nan_allowed=("kendall_tau",),
        scaled=lambda answer, exponent: answer,
    )
