"""Haar transforms and what is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from tests.reference.haar import haar_coefficients, haar_functions

import haarbor as hb
from faults.answers import difference
from faults.good_values import AXES, good_tensor, good_trees, tolerance
from faults.hostile_arrays import spoilt_array
from faults.hostile_settings import (
    random_tree,
    spoilt_axes,
    spoilt_tree,
    spoilt_trees,
    spoilt_whole_number,
)
from faults.subject import Call, subject

Rng = np.random.Generator


def _times(answer: Any, exponent: int) -> Any:
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(answer, exponent)


def _parts(rng: Rng) -> tuple[dict[str, Any], dict[str, Any]]:
    X = good_tensor(rng, int(rng.integers(2, 4)), least=1)
    axes = AXES[: X.ndim]
    trees = good_trees(rng, X.shape, axes)
    trees = {axis: tree for axis, tree in trees.items() if rng.random() < 0.8}
    arguments = {"X": X, "trees": trees, "axes": axes}
    spoil = {
        "X": spoilt_array,
        "trees": lambda rng, good: spoilt_trees(rng, good, all_needed=False),
        "axes": spoilt_axes,
    }
    return arguments, spoil


def _written_out(X: Any, trees: Mapping[str, Any], axes: Any) -> Any:
    functions = {axes.index(axis): haar_functions(tree.levels.tolist()) for axis, tree in trees.items()}
    return haar_coefficients(X, functions)


@subject("haar_transform")
def haar_transform(rng: Rng) -> Call:
    """Against inner products with every function written out, and back again."""
    arguments, spoil = _parts(rng)
    tol = tolerance(arguments["X"])

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        back = hb.inverse_haar_transform(answer, given["trees"], given["axes"])
        lost = difference(back, given["X"], tol=10 * tol)
        if lost is not None:
            return f"the inverse does not give it back: {lost}"
        if answer.size > 80:
            return None
        expected = _written_out(given["X"], given["trees"], given["axes"])
        return difference(answer.astype(np.float64), expected, tol=10 * tol)

    return Call(
        function=hb.haar_transform, arguments=arguments, spoil=spoil, law=law, scaled=_times, tol=100 * tol
    )


@subject("inverse_haar_transform")
def inverse_haar_transform(rng: Rng) -> Call:
    """Forwards again gives the coefficients back."""
    arguments, spoil = _parts(rng)
    arguments["coefficients"], spoil["coefficients"] = arguments.pop("X"), spoil.pop("X")
    tol = tolerance(arguments["coefficients"])

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        forth = hb.haar_transform(answer, given["trees"], given["axes"])
        return difference(forth, given["coefficients"], tol=10 * tol)

    return Call(
        function=hb.inverse_haar_transform, arguments=arguments, spoil=spoil, law=law, scaled=_times,
        tol=100 * tol,
    )  # fmt: skip


@subject("haar_l1")
def haar_l1(rng: Rng) -> Call:
    """Against the sum of the coefficients' sizes."""
    arguments, spoil = _parts(rng)
    tol = tolerance(arguments["X"])

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        coefficients = hb.haar_transform(given["X"], given["trees"], given["axes"])
        return difference(answer, float(np.abs(coefficients.astype(np.float64)).sum()), tol=tol)

    return Call(
        function=hb.haar_l1, arguments=arguments, spoil=spoil, law=law, scaled=lambda answer,
        exponent: float(_times(answer, exponent)), tol=100 * tol,
    )  # fmt: skip


@subject("sorted_coefficients")
def sorted_coefficients(rng: Rng) -> Call:
    """The same numbers as the transform has, in another order."""
    X = good_tensor(rng, 3)
    trees = good_trees(rng, X.shape, AXES)
    if rng.random() < 0.5:
        del trees["head"]
    arguments = {"X": X, "trees": trees, "k": int(rng.integers(1, 30)), "axes": AXES}
    tol = tolerance(X)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        everything = hb.sorted_coefficients(given["X"], given["trees"], X.size, axes=given["axes"])
        whole = hb.haar_transform(given["X"], given["trees"], given["axes"])
        if not np.array_equal(np.sort(everything.ravel()), np.sort(whole.ravel())):
            return "not the coefficients of the transform"
        return difference(answer, everything[: given["k"]])

    return Call(
        function=hb.sorted_coefficients,
        arguments=arguments,
        spoil={
            "X": spoilt_array,
            "trees": lambda rng, good: spoilt_trees(rng, good, all_needed=False),
            "k": spoilt_whole_number,
            "axes": spoilt_axes,
        },
        law=law,
        scaled=_times,
        tol=100 * tol,
    )


@subject("haar_system")
def haar_system(rng: Rng) -> Call:
    """Supports and levels are those of the functions written out."""

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        functions = haar_functions(given["tree"].levels.tolist())
        return difference(
            (answer.supports.tolist(), answer.levels.tolist()),
            ([f.support for f in functions], [f.level for f in functions]),
        )

    tree = random_tree(rng, int(rng.integers(1, 9)))
    return Call(function=hb.haar_system, arguments={"tree": tree}, spoil={"tree": _not_a_tree}, law=law)


@subject("haar_basis")
def haar_basis(rng: Rng) -> Call:
    """Against the functions written out."""

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        functions = haar_functions(given["tree"].levels.tolist())
        return difference(answer, np.array([f.values for f in functions]), tol=1e-12)

    tree = random_tree(rng, int(rng.integers(1, 9)))
    return Call(function=hb.haar_basis, arguments={"tree": tree}, spoil={"tree": _not_a_tree}, law=law)


def _not_a_tree(rng: Rng, good: Any) -> Any:
    # Any tree fits here, whatever its number of items.
    found = spoilt_tree(rng, good)
    return found._replace(demand="either") if isinstance(found.value, hb.PartitionTree) else found
