"""Affinities, Markov spectra and diffusion maps; distances along trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from tests.reference import affinity as reference
from tests.reference.markov import symmetric_chain
from tests.reference.tree_emd import tree_emd as written_out_emd

import haarbor as hb
from faults.answers import difference
from faults.good_values import AXES, good_affinity, good_tensor, good_trees, tolerance
from faults.hostile_arrays import spoilt_array
from faults.hostile_settings import (
    spoilt_axes,
    spoilt_choice,
    spoilt_number,
    spoilt_trees,
    spoilt_whole_number,
)
from faults.spoilt import Spoilt, one_of
from faults.subject import Call, subject

Rng = np.random.Generator


def spoilt_affinity(rng: Rng, good: Any) -> Spoilt:
    """Something else in place of an affinity, or a matrix of distances."""
    if rng.random() < 0.6 or good.shape[0] < 2:
        found = spoilt_array(rng, good)
        # Spoilt numbers break the symmetry or not, as it happens.
        return found if found.name not in _MAY_NOT_FIT else found._replace(demand="either")
    changed = good.copy()
    row, column = (int(place) for place in rng.choice(good.shape[0], 2, replace=False))
    what = one_of(rng, ("not symmetric", "negative", "an item alone", "not square", "larger than one"))
    if what == "not symmetric":
        changed[row, column] += 0.3
        return Spoilt(what, changed, "refused")
    if what == "negative":
        changed[row, column] = changed[column, row] = -0.5
        return Spoilt(what, changed, "refused")
    if what == "an item alone":
        changed[row] = 0.0
        changed[:, row] = 0.0
        return Spoilt(what, changed, "either")
    if what == "not square":
        return Spoilt(what, changed[:-1], "refused")
    return Spoilt(what, changed * 1e6, "either")


_MAY_NOT_FIT = ("whole numbers", "a single number")


@subject("cosine_affinity")
def cosine_affinity(rng: Rng) -> Call:
    """Against loops; the same bits on one thread and on two."""
    X = good_tensor(rng, int(rng.integers(2, 4)), least=1)
    place = int(rng.integers(X.ndim))
    tol = tolerance(X)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        twice = hb.cosine_affinity(given["X"], given["axis"], axes=given["axes"], threads=2)
        expected = reference.cosine_affinity(reference.unfolded(given["X"], place))
        return difference(twice, answer) or difference(answer, expected, tol=10 * tol)

    return Call(
        function=hb.cosine_affinity,
        arguments={"X": X, "axis": AXES[place], "axes": AXES[: X.ndim], "threads": 1},
        spoil={
            "X": lambda rng, good: spoilt_array(rng, good, gaps=True),
            "axis": _spoilt_axis,
            "axes": spoilt_axes,
            "threads": lambda rng, good: _few(spoilt_whole_number(rng, good, optional=True)),
        },
        law=law,
        always=_is_affinity,
        scaled=lambda answer, exponent: answer,
        scaled_to_the_last=True,
        tol=tol,
    )


@subject("gaussian_affinity")
def gaussian_affinity(rng: Rng) -> Call:
    """Against loops; the same bits on one thread and on two."""
    X = good_tensor(rng, int(rng.integers(2, 4)), least=1)
    place = int(rng.integers(X.ndim))
    tol = tolerance(X)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        twice = hb.gaussian_affinity(given["X"], given["axis"], axes=given["axes"], threads=2)
        expected = reference.gaussian_affinity(reference.unfolded(given["X"], place))
        return difference(twice, answer) or difference(answer, expected, tol=10 * tol)

    def spoilt(rng: Rng, good: Any) -> Spoilt:
        found = spoilt_array(rng, good)
        # A bandwidth of zero counts as one: slices that are alike have no scale of their own.
        unscaled = found.exponent is None or _some_alike(found.like, place)
        return found._replace(exponent=None) if unscaled else found

    return Call(
        function=hb.gaussian_affinity,
        arguments={"X": X, "axis": AXES[place], "axes": AXES[: X.ndim], "threads": 1},
        spoil={
            "X": spoilt,
            "axis": _spoilt_axis,
            "axes": spoilt_axes,
            "threads": lambda rng, good: _few(spoilt_whole_number(rng, good, optional=True)),
        },
        law=law,
        always=_is_affinity,
        scaled=lambda answer, exponent: answer,
        tol=1e3 * tol,
    )


@subject("distance_affinity")
def distance_affinity(rng: Rng) -> Call:
    """Against loops."""
    distances = np.abs(good_affinity(rng) - 1.0)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        return difference(answer, reference.distance_affinity(given["distances"].tolist()), tol=1e-12)

    return Call(
        function=hb.distance_affinity,
        arguments={"distances": distances},
        spoil={"distances": spoilt_affinity},
        law=law,
        always=_is_affinity,
    )


@subject("markov_spectrum")
def markov_spectrum(rng: Rng) -> Call:
    """Eigenpairs of the chain as it is written down."""
    affinity = good_affinity(rng)
    n_items = affinity.shape[0]

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        S, s = symmetric_chain(given["affinity"].tolist())
        vectors = answer.eigenvectors * s[:, None]
        signs = np.sign(np.sum((S @ vectors) * vectors, axis=0))
        left = S @ vectors - vectors * (answer.eigenvalues * signs)
        return None if np.abs(left).max() < 1e-8 else f"no eigenpairs: {np.abs(left).max():g} is left over"

    return Call(
        function=hb.markov_spectrum,
        arguments={"affinity": affinity, "n_eigenpairs": int(rng.integers(1, n_items + 1))},
        spoil={
            "affinity": spoilt_affinity,
            "n_eigenpairs": lambda rng, good: spoilt_whole_number(rng, good, optional=True),
        },
        law=law,
    )


@subject("diffusion_map")
def diffusion_map(rng: Rng) -> Call:
    """Coordinates are those of the spectrum."""
    affinity = good_affinity(rng, int(rng.integers(2, 8)))

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        n_columns = min(given["dimensions"], affinity.shape[0] - 1)
        spectrum = hb.markov_spectrum(given["affinity"], n_columns + 1)
        expected = spectrum.eigenvectors[:, 1:] * spectrum.eigenvalues[1:] ** given["time"]
        return difference(answer.coordinates, expected, tol=1e-12)

    return Call(
        function=hb.diffusion_map,
        arguments={
            "affinity": affinity,
            "dimensions": int(rng.integers(1, 5)),
            "time": float(rng.uniform(0, 4)),
        },
        spoil={
            "affinity": spoilt_affinity,
            "dimensions": spoilt_whole_number,
            "time": lambda rng, good: spoilt_number(rng, good, least=0.0, endless=True),
        },
        law=law,
    )


@subject("tree_emd")
def tree_emd(rng: Rng) -> Call:
    """Against a sum over all products of folders; the same bits on one thread and on two."""
    X = good_tensor(rng, int(rng.integers(2, 4)), most=5)
    axes = AXES[: X.ndim]
    without = one_of(rng, axes)
    trees = good_trees(rng, X.shape, axes)
    del trees[without]
    tol = tolerance(X)
    alpha, beta = (_exponents(rng, trees) for _ in range(2))

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        twice = hb.tree_emd(**{**given, "engine": hb.CpuEngine(threads=2)})
        once = hb.tree_emd(**{**given, "engine": hb.CpuEngine(threads=1)})
        place = axes.index(without)
        order = rng.permutation(X.shape[place])
        shuffled = hb.tree_emd(**{**given, "X": np.take(X, order, axis=place)})
        unlike = (
            difference(once, answer)
            or difference(twice, answer)
            or difference(shuffled, answer[np.ix_(order, order)], tol=10 * tol)
        )
        if unlike is not None or X.size > 60:
            return unlike
        by_place = [
            {
                axes.index(axis): value[axis] if isinstance(value, Mapping) else value
                for axis in axes
                if axis != without
            }
            for value in (alpha, beta)
        ]
        levels = {axes.index(axis): tree.levels.tolist() for axis, tree in trees.items()}
        return difference(answer, written_out_emd(X, levels, place, *by_place), tol=10 * tol)

    return Call(
        function=hb.tree_emd,
        arguments={"X": X, "trees": trees, "axes": axes, "alpha": alpha, "beta": beta, "engine": "cpu"},
        spoil={
            "X": spoilt_array,
            "trees": spoilt_trees,
            "axes": spoilt_axes,
            "alpha": spoilt_number,
            "beta": spoilt_number,
            "engine": spoilt_choice,
        },
        law=law,
        always=_are_distances,
        scaled=lambda answer, exponent: _grown(answer, exponent),
        tol=1e3 * tol,
    )


def _grown(answer: Any, exponent: int) -> Any:
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(answer, exponent)


def _exponents(rng: Rng, trees: Mapping[str, Any]) -> Any:
    one = float(rng.choice([0.0, 1.0, 0.5, -0.5]))
    return one if rng.random() < 0.7 else dict.fromkeys(trees, one)


def _are_distances(answer: Any, given: Mapping[str, Any]) -> str | None:
    if not np.array_equal(answer, answer.T) or np.diagonal(answer).any() or (answer < 0).any():
        return "not symmetric, not zero on the diagonal, or negative"
    return None


def _is_affinity(answer: Any, given: Mapping[str, Any]) -> str | None:
    if not np.array_equal(answer, answer.T) or answer.min() < 0 or answer.max() > 1 + 1e-6:
        return "not symmetric, or not between 0 and 1"
    return None


def _some_alike(X: Any, place: int) -> bool:
    flat = np.moveaxis(X, place, 0).reshape(X.shape[place], -1)
    return len(np.unique(flat, axis=0)) < 6


def _few(found: Spoilt) -> Spoilt:
    # As many threads as are asked for are started: an honest answer to a foolish question.
    wanted = found.value
    return found._replace(value=8) if isinstance(wanted, (int, np.integer)) and wanted > 100 else found


def _spoilt_axis(rng: Rng, good: str) -> Spoilt:
    wrong = ("nowhere", 7, -9, None, 1.5, [], {}, b"query", "", "\x1b[2J", np.nan, ("query",), 2**70)
    return Spoilt("no axis", one_of(rng, wrong), "refused")
