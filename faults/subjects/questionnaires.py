"""The questionnaire, what its answer can be asked, and the consensus of several."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from tests.reference import questionnaire as reference

import haarbor as hb
from faults.answers import difference
from faults.good_values import AXES, causal_mask, good_tensor, tolerance
from faults.hostile_arrays import spoilt_array
from faults.hostile_settings import (
    spoilt_axes,
    spoilt_choice,
    spoilt_mask,
    spoilt_number,
    spoilt_whole_number,
)
from faults.spoilt import Spoilt, one_of
from faults.subject import Call, subject

Rng = np.random.Generator


@subject("organize")
def organize(rng: Rng) -> Call:
    """The same on one thread and on two, and against the loop written out."""
    X = good_tensor(rng, one_of(rng, (2, 3, 3, 3)), most=5)
    axes = AXES[: X.ndim]
    generic = bool(rng.random() < 0.4) and min(X.shape) > 2
    mask = None
    if generic:
        X = rng.uniform(0.1, 1.0, size=X.shape)
    elif rng.random() < 0.3:
        mask = causal_mask(X.shape)
    content = "auto" if mask is None else "logits"
    arguments = {
        "X": X,
        "axes": axes,
        "n_iterations": int(rng.integers(1, 4)),
        "initial": one_of(rng, ("cosine", "gaussian")),
        "alpha": _exponents(rng, axes, (0.0, 0.5)),
        "beta": _exponents(rng, axes, (1.0, 0.5)),
        "tree": one_of(rng, ("flexible", "flexible", "binary")),
        "tree_constant": float(rng.uniform(0.5, 2)),
        "cut": one_of(rng, ("zero", "balanced")),
        "refine": one_of(rng, ("latest", "published")),
        "engine": "cpu",
        "mask": mask,
        "content": content,
    }

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        for threads in (1, 2):
            again = hb.organize(**{**given, "engine": hb.CpuEngine(threads=threads)})
            unlike = difference(again, answer)
            if unlike is not None:
                return f"another answer on {threads} threads: {unlike}"
        return _against_loop(answer, given) if generic and X.size <= 80 else None

    return Call(
        function=hb.organize,
        arguments=arguments,
        spoil={
            "X": lambda rng, good: spoilt_array(rng, good, gaps=mask is not None),
            "axes": spoilt_axes,
            "n_iterations": spoilt_whole_number,
            "initial": spoilt_choice,
            "alpha": spoilt_number,
            "beta": spoilt_number,
            "tree": spoilt_choice,
            "tree_constant": lambda rng, good: spoilt_number(rng, good, least=0.0),
            "cut": spoilt_choice,
            "refine": spoilt_choice,
            "engine": spoilt_choice,
            "mask": lambda rng, good: _mask(rng, good, X.shape),
            "content": spoilt_choice,
        },
        law=law,
        always=_is_organized,
        scaled=(lambda answer, exponent: answer) if mask is None else None,
        tol=1e4 * tolerance(X),
    )


def _mask(rng: Rng, good: Any, shape: tuple[int, ...]) -> Spoilt:
    found = spoilt_mask(rng, good, (shape[0], shape[1]))
    # Where there was no mask the content is guessed anew with one.
    return found if good is not None or found.demand == "refused" else found._replace(demand="either")


def _exponents(rng: Rng, axes: Any, choices: Any) -> Any:
    one = float(one_of(rng, choices))
    return one if rng.random() < 0.7 else dict.fromkeys(axes, one)


def _is_organized(answer: Any, given: Mapping[str, Any]) -> str | None:
    for axis, size in zip(answer.axes, answer.shape, strict=True):
        if sorted(answer.order(axis).tolist()) != list(range(size)):
            return f"the order of {axis} is not a permutation"
        if answer.affinities[axis].shape != (size, size):
            return f"the affinity of {axis} has shape {answer.affinities[axis].shape}"
    return None


def _against_loop(answer: Any, given: Mapping[str, Any]) -> str | None:
    axes = given["axes"]
    last = "head" if "head" in axes else axes[-1]
    names = ("initial", "alpha", "beta", "tree", "tree_constant", "cut", "refine")
    settings = {name: _by_place(given[name], axes) for name in names}
    _, affinities, initial = reference.organize(
        given["X"], last=axes.index(last), n_iterations=answer.n_iterations, **settings
    )
    for place, axis in enumerate(axes):
        if axis != last:
            unlike = difference(answer.initial_affinities[axis], initial[place], tol=1e-9)
            if unlike is not None:
                return f"first affinity of {axis}: {unlike}"
        unlike = difference(answer.affinities[axis], affinities[place], tol=1e-7)
        if unlike is not None:
            return f"last affinity of {axis}: {unlike}"
    return None


def _by_place(value: Any, axes: Any) -> Any:
    return (
        {axes.index(axis): number for axis, number in value.items()} if isinstance(value, Mapping) else value
    )


@functools.cache
def _organized(seed: int) -> tuple[Any, hb.Organization]:
    rng = np.random.default_rng([seed, 77])
    X = rng.uniform(0.1, 1.0, size=(4, 5, 6))
    return X, hb.organize(X)


@subject("organization.rearranged")
def rearranged(rng: Rng) -> Call:
    """The same numbers in another order."""
    X, org = _organized(int(rng.integers(8)))
    return Call(
        function=org.rearranged,
        arguments={"X": X},
        spoil={"X": lambda rng, good: spoilt_array(rng, good)._replace(demand="either", exponent=None)},
        law=lambda answer, given: difference(np.sort(answer, axis=None), np.sort(given["X"], axis=None)),
        nan_allowed=("",),
    )


@subject("organization.embedding")
def embedding(rng: Rng) -> Call:
    """That of the diffusion map."""
    _, org = _organized(int(rng.integers(8)))

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        expected = hb.diffusion_map(org.affinities[given["axis"]], given["dimensions"], given["time"])
        return difference(answer, expected.coordinates)

    return Call(
        function=org.embedding,
        arguments={"axis": one_of(rng, AXES), "dimensions": 2, "time": float(rng.uniform(0, 3))},
        spoil={
            "axis": spoilt_choice,
            "dimensions": spoilt_whole_number,
            "time": lambda rng, good: spoilt_number(rng, good, least=0.0, endless=True),
        },
        law=law,
    )


@subject("organization.order")
def order(rng: Rng) -> Call:
    """A permutation."""
    _, org = _organized(int(rng.integers(8)))
    return Call(
        function=org.order,
        arguments={"axis": one_of(rng, AXES)},
        spoil={"axis": spoilt_choice},
        law=lambda answer, given: None if sorted(answer) == list(range(len(answer))) else "no permutation",
    )


@subject("organization.iteration_trees")
def iteration_trees(rng: Rng) -> Call:
    """Those of the history."""
    _, org = _organized(int(rng.integers(8)))

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        history = {
            axis: trees[given["iteration"] - 1 - org.n_iterations] for axis, trees in org.history.items()
        }
        return None if answer == history else "not the trees of the history"

    return Call(
        function=org.iteration_trees,
        arguments={"iteration": int(rng.integers(1, org.n_iterations + 1))},
        spoil={"iteration": spoilt_whole_number},
        law=law,
    )


@subject("organization.convergence")
def convergence(rng: Rng) -> Call:
    """The coherence is the l1 norm on the trees of each iteration."""
    X, org = _organized(int(rng.integers(8)))

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        each = [hb.haar_l1(given["X"], org.iteration_trees(i)) for i in answer.iterations.tolist()]
        return difference(answer.coherence, np.array(each))

    return Call(
        function=org.convergence,
        arguments={"X": X},
        spoil={"X": spoilt_array},
        law=law,
        nan_allowed=("tree_change.head",),
    )


@subject("consensus")
def consensus(rng: Rng) -> Call:
    """The distances are the sum of those of the batches."""
    chosen = [_organized(int(rng.integers(8))) for _ in range(int(rng.integers(1, 4)))]
    tensors, organizations = [X for X, _ in chosen], [org for _, org in chosen]

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        each = [
            hb.tree_emd(X, {axis: tree for axis, tree in org.trees.items() if axis != given["axis"]})
            for X, org in chosen
        ]
        return difference(answer.distances, np.sum(each, axis=0), tol=1e-12)

    def spoilt_tensors(rng: Rng, good: Any) -> Spoilt:
        if rng.random() < 0.5:
            found = spoilt_array(rng, good[0])
            like = None if found.like is None else [found.like, *good[1:]]
            return found._replace(value=[found.value, *good[1:]], like=like, exponent=None)
        wrong = (None, 5, "x", [], good[:-1], [*good, *good], {}, [None] * len(good), object())
        return Spoilt("no tensors", one_of(rng, wrong), "either")

    def spoilt_organizations(rng: Rng, good: Any) -> Spoilt:
        wrong = (
            None,
            5,
            [],
            good[:-1],
            [None] * len(good),
            [X for X, _ in chosen],
            "x",
            {},
            good[0],
            [1, 2, 3],
        )
        return Spoilt("no organisations", one_of(rng, wrong), "refused" if len(good) > 1 else "either")

    return Call(
        function=hb.consensus,
        arguments={"tensors": tensors, "organizations": organizations, "axis": one_of(rng, AXES)},
        spoil={
            "tensors": spoilt_tensors,
            "organizations": spoilt_organizations,
            "axis": spoilt_choice,
        },
        law=law,
        nan_allowed=("distance_correlation",),
    )
