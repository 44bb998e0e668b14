"""Paraproducts, the softmax of a head, Hölder exponents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from tests.reference.paraproduct import Pointwise, RowSoftmax, decomposition

import haarbor as hb
from faults.answers import difference
from faults.good_values import causal_mask, good_matrix, tolerance
from faults.hostile_arrays import spoilt_array
from faults.hostile_settings import (
    random_tree,
    spoilt_choice,
    spoilt_mask,
    spoilt_number,
    spoilt_seed,
    spoilt_tree,
    spoilt_whole_number,
)
from faults.spoilt import Spoilt, one_of
from faults.subject import Call, subject

Rng = np.random.Generator
# Written out here: the comparison is to share nothing with the package.
_POINTWISE = {
    "exp": (np.exp, np.exp, np.exp),
    "tanh": (np.tanh, lambda x: np.cosh(x) ** -2, lambda x: -2 * np.tanh(x) * np.cosh(x) ** -2),
    "square": (np.square, lambda x: 2 * x, lambda x: 2 + 0 * x),
    "cube": (lambda x: x**3, lambda x: 3 * x**2, lambda x: 6 * x),
}
_FIGURES = ("exact", "paper", "paper_exp", "invariance", "linear", "constant_mean", "constant_deviation")
_FORMS = ("paper", "paper+boundary", "corrected", "corrected+marginals")


def _matrix_arguments(rng: Rng, name: str, *, least: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    f = good_matrix(rng, least=least)
    rows, columns = (random_tree(rng, size) for size in f.shape)
    arguments = {name: f, "row_tree": rows, "column_tree": columns}
    spoil = {
        name: spoilt_array,
        "row_tree": spoilt_tree,
        "column_tree": spoilt_tree,
    }
    return arguments, spoil


@subject("paraproduct")
def paraproduct(rng: Rng) -> Call:
    """Against full-size averages of every pair of scales."""
    arguments, spoil = _matrix_arguments(rng, "f")
    f = arguments["f"]
    mask = causal_mask(f.shape) if rng.random() < 0.4 else None
    arguments.update(
        nonlinearity=one_of(rng, (*_POINTWISE, "softmax", "sigmoid", "gaussian", "inverse potential")),
        form=one_of(rng, _FORMS),
        mask=mask,
    )

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        valid = np.ones(f.shape, dtype=bool) if mask is None else mask
        name = given["nonlinearity"]
        if name in _POINTWISE:
            operator: Any = Pointwise(*_POINTWISE[name], valid)
        elif name == "softmax":
            operator = RowSoftmax(valid)
        else:
            return None
        trees = (given["row_tree"].levels.tolist(), given["column_tree"].levels.tolist())
        expected = decomposition(f, *trees, operator, valid)
        limit = 1e-9 * max(1.0, float(np.abs(expected["exact"]).max()))
        for part, wanted in (
            (answer.approximation, expected[given["form"]]),
            (answer.value, expected["exact"]),
        ):
            if not np.allclose(part, wanted, rtol=0, atol=limit):
                return f"differs from the averages written out by {np.abs(part - wanted).max():g}"
        return None

    def always(answer: Any, given: Mapping[str, Any]) -> str | None:
        return difference(answer.value - answer.approximation, answer.residual, tol=1e-9) or _centred_fault(
            answer
        )

    spoil.update(
        {
            "f": lambda rng, good: spoilt_array(rng, good, gaps=mask is not None),
            "nonlinearity": _spoilt_nonlinearity,
            "form": spoilt_choice,
            "mask": lambda rng, good: spoilt_mask(rng, good, f.shape),
        }
    )
    return Call(
        function=hb.paraproduct, arguments=arguments, spoil=spoil, law=law, always=always,
        # Held to what it promises where there is nothing to divide by.
        nan_allowed=("derivatives", "centred_error"),
    )  # fmt: skip


def _centred_fault(answer: Any) -> str | None:
    """What is wrong with the error relative to a nonlinearity without its mean."""
    # Wider, so that squares neither vanish nor overflow.
    value, residual, approximation = (
        part[answer.mask].astype(np.longdouble)
        for part in (answer.value, answer.residual, answer.approximation)
    )
    error, centred, norm, approximated = (
        np.sqrt(np.sum(part**2)) for part in (residual, value - value.mean(), value, approximation)
    )
    rounding = 64 * np.finfo(np.float64).eps * norm
    # The value is the approximation and the residual added up, and has the rounding of that.
    noise = 4 * np.finfo(np.float64).eps * approximated
    if min(abs(centred - rounding), abs(error - rounding)) <= noise and centred <= rounding + noise:
        return None
    found = answer.centred_error
    if centred <= rounding:
        right = found == (0.0 if error <= rounding else np.inf)
    else:
        right = abs(found - error / centred) <= (1e-6 + 2 * noise / centred) * error / centred
    return None if right else f"centred_error is {found}: the norms are {error:g}, {centred:g} and {norm:g}"


def _spoilt_nonlinearity(rng: Rng, good: str) -> Spoilt:
    functions: tuple[Any, ...] = (
        (np.exp,), (), (np.exp, np.exp), (np.exp, None, 5), (np.log, np.reciprocal, np.square), np.exp,
        (lambda x: x * np.nan, np.exp, np.exp), (lambda x: x[:1], np.exp, np.exp), (lambda x: None,) * 3,
        (lambda x: "text",) * 3, (lambda x: 1j * x,) * 3,
    )  # fmt: skip
    if rng.random() < 0.5:
        return Spoilt("odd functions", one_of(rng, functions), "either")
    return spoilt_choice(rng, good)


@subject("softmax_invariance")
def softmax_invariance(rng: Rng) -> Call:
    """Logits plus a number in every row have the same softmax; nothing explains more than all."""
    arguments, spoil = _matrix_arguments(rng, "logits", least=2)
    f = arguments["logits"]
    mask = causal_mask(f.shape) if rng.random() < 0.4 else None
    arguments.update(mask=mask, seed=int(rng.integers(100)))

    def always(answer: Any, given: Mapping[str, Any]) -> str | None:
        for figures in (answer.figures, answer.shuffled_trees, answer.shuffled_rows):
            for name in ("exact", "paper", "paper_exp", "invariance", "linear"):
                if not getattr(figures, name) <= 1 + 1e-9:
                    return f"{name} explains {getattr(figures, name)}"
        return None

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        shifted = given["logits"].astype(np.float64) + 3.0
        again = hb.softmax_invariance(**{**given, "logits": shifted})
        each = [[getattr(found.figures, name) for name in _FIGURES] for found in (again, answer)]
        return None if np.allclose(*each, rtol=1e-4, atol=1e-5) else f"{each[0]} in place of {each[1]}"

    spoil.update(
        {
            "logits": lambda rng, good: spoilt_array(rng, good, gaps=mask is not None),
            "mask": lambda rng, good: spoilt_mask(rng, good, f.shape),
            "seed": spoilt_seed,
        }
    )
    return Call(function=hb.softmax_invariance, arguments=arguments, spoil=spoil, law=law, always=always)


@subject("holder_exponent")
def holder_exponent(rng: Rng) -> Call:
    """The exponent does not change when the matrix is scaled."""
    arguments, spoil = _matrix_arguments(rng, "f", least=2)
    arguments.update(n_draws=10, n_shuffles=2, seed=int(rng.integers(100)))

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        again = hb.holder_exponent(**{**given, "f": 4.0 * given["f"].astype(np.float64)})
        same = hb.holder_exponent(**{**given, "f": given["f"].astype(np.float64)})
        return (
            None
            if np.allclose(again.alpha, same.alpha, atol=1e-6, equal_nan=True)
            else (f"alpha is {again.alpha} four times as large, and {same.alpha} before")
        )

    spoil.update(
        {
            "n_draws": lambda rng, good: _few(spoilt_whole_number(rng, good, least=2)),
            "n_shuffles": lambda rng, good: _few(spoilt_whole_number(rng, good, least=2)),
            "seed": spoilt_seed,
        }
    )
    return Call(
        function=hb.holder_exponent,
        arguments=arguments,
        spoil=spoil,
        law=law,
        nan_allowed=("alpha", "alpha_row", "alpha_column", "_error"),
        tol=tolerance(arguments["f"]),
    )


@subject("datasets.haar_series")
def haar_series(rng: Rng) -> Call:
    """The same seed, the same series; of the shape of the trees."""
    rows, columns = (random_tree(rng, int(rng.integers(1, 8))) for _ in range(2))

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        if answer.shape != (rows.n_items, columns.n_items):
            return f"shape {answer.shape}"
        return difference(hb.datasets.haar_series(**given), answer)

    def spoilt_any_tree(rng: Rng, good: Any) -> Spoilt:
        found = spoilt_tree(rng, good)
        return found._replace(demand="either") if isinstance(found.value, hb.PartitionTree) else found

    return Call(
        function=hb.datasets.haar_series,
        arguments={
            "row_tree": rows,
            "column_tree": columns,
            "alpha": float(rng.uniform(0, 1)),
            "amplitude": 1.0,
            "marginals": 0.5,
            "coefficients": one_of(rng, ("normal", "signs")),
            "seed": int(rng.integers(100)),
        },
        spoil={
            "row_tree": spoilt_any_tree,
            "column_tree": spoilt_any_tree,
            "alpha": lambda rng, good: spoilt_number(rng, good, endless=True),
            "amplitude": spoilt_number,
            "marginals": spoilt_number,
            "coefficients": spoilt_choice,
            "seed": spoilt_seed,
        },
        law=law,
    )


def _few(found: Spoilt) -> Spoilt:
    # A million million draws are honest work, and not what is looked for.
    wanted = found.value
    return found._replace(value=20) if isinstance(wanted, (int, np.integer)) and wanted > 1000 else found
