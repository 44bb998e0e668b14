"""Nonlinearities by name, with the derivatives that a paraproduct needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.array_types import FloatArray, real_array
from haarbor.errors import SettingError
from haarbor.options import found_text, require_whole_number

__all__ = ["Nonlinearity", "NonlinearityChoice", "pointwise_nonlinearity"]

_HIGHEST_ORDER = 3
Pointwise = Callable[[FloatArray], Any]
NonlinearityChoice = str | Sequence[Pointwise]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Nonlinearity:
    """A function of one variable and its derivatives."""

    name: str
    derivatives: tuple[Pointwise, ...]
    """The function itself, its first derivative, its second, and so on."""


def _exp(x: FloatArray) -> FloatArray:
    # Overflow is reported later, with its position.
    with np.errstate(over="ignore"):
        value: FloatArray = np.exp(x)
    return value


def _sigmoid(x: FloatArray) -> FloatArray:
    # Written with a hyperbolic tangent, which does not overflow at either end.
    value: FloatArray = 0.5 + 0.5 * np.tanh(0.5 * x)
    return value


def _sigmoid_derivatives() -> tuple[Pointwise, ...]:
    def first(x: FloatArray) -> FloatArray:
        a = _sigmoid(x)
        return a * (1 - a)

    def second(x: FloatArray) -> FloatArray:
        a = _sigmoid(x)
        return a * (1 - a) * (1 - 2 * a)

    def third(x: FloatArray) -> FloatArray:
        a = _sigmoid(x)
        return a * (1 - a) * (1 - 6 * a * (1 - a))

    return (_sigmoid, first, second, third)


def _tanh_derivatives() -> tuple[Pointwise, ...]:
    return (
        np.tanh,
        lambda x: 1 - np.tanh(x) ** 2,
        lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2),
        lambda x: (1 - np.tanh(x) ** 2) * (6 * np.tanh(x) ** 2 - 2),
    )


def _gaussian_derivatives() -> tuple[Pointwise, ...]:
    def value(x: FloatArray) -> FloatArray:
        bell: FloatArray = np.exp(-0.5 * x**2)
        return bell

    return (
        value,
        lambda x: -x * value(x),
        lambda x: (x**2 - 1) * value(x),
        lambda x: (3 * x - x**3) * value(x),
    )


def _inverse_potential_derivatives() -> tuple[Pointwise, ...]:
    def power(x: FloatArray, exponent: float) -> FloatArray:
        return (1 + x**2) ** exponent

    return (
        lambda x: power(x, -0.5),
        lambda x: -x * power(x, -1.5),
        lambda x: (2 * x**2 - 1) * power(x, -2.5),
        lambda x: (9 * x - 6 * x**3) * power(x, -3.5),
    )


_NAMED: dict[str, tuple[Pointwise, ...]] = {
    "exp": (_exp, _exp, _exp, _exp),
    "sigmoid": _sigmoid_derivatives(),
    "tanh": _tanh_derivatives(),
    "square": (
        lambda x: x**2,
        lambda x: 2 * x,
        lambda x: np.full_like(x, 2.0),
        np.zeros_like,
    ),
    "cube": (lambda x: x**3, lambda x: 3 * x**2, lambda x: 6 * x, lambda x: np.full_like(x, 6.0)),
    "gaussian": _gaussian_derivatives(),
    "inverse potential": _inverse_potential_derivatives(),
}


def pointwise_nonlinearity(choice: NonlinearityChoice, order: int = 2) -> Nonlinearity:
    r"""Nonlinearity with a name, or made of given functions.

    Parameters
    ----------
    choice : str or sequence of functions
        "exp", "sigmoid" :math:`1/(1+e^{-x})`, "tanh", "square", "cube", "gaussian"
        :math:`e^{-x^2/2}`, "inverse potential" :math:`(1+x^2)^{-1/2}`; or the functions
        :math:`(A, A', A'')`, and :math:`A'''` for a tensor of three axes, each from array to array.
    order : int, default 2
        Order of the highest derivative needed, which is the number of axes.

    Returns
    -------
    Nonlinearity

    Raises
    ------
    SettingError
        If the name is not offered, or not enough functions are given.

    See Also
    --------
    haarbor.paraproduct : A nonlinearity, split.

    Examples
    --------
    >>> cube = pointwise_nonlinearity("cube")
    >>> [float(derivative(np.array(2.0))) for derivative in cube.derivatives]
    [8.0, 12.0, 12.0]
    >>> pointwise_nonlinearity((np.sin, np.cos, lambda x: -np.sin(x))).name
    'given'
    """
    order = require_whole_number("order", order, 0, _HIGHEST_ORDER)
    if isinstance(choice, str):
        if choice not in _NAMED:
            offered = ", ".join(map(repr, (*_NAMED, "softmax")))
            raise SettingError(
                f"nonlinearity must be one of {offered}, or functions (A, A', A''); "
                f"found {found_text(choice)}. Pass one of them."
            )
        return Nonlinearity(name=choice, derivatives=_NAMED[choice][: order + 1])
    functions: tuple[Any, ...] = tuple(choice) if isinstance(choice, Sequence) else ()
    if len(functions) < order + 1 or not all(callable(function) for function in functions):
        raise SettingError(
            f"a nonlinearity must be a name or {order + 1} functions, itself and its first {order} "
            f"derivatives; found {found_text(choice)}. Pass 'exp', say, or a tuple of functions."
        )
    return Nonlinearity(name="given", derivatives=tuple(map(_checked_values, functions[: order + 1])))


def _checked_values(function: Callable[..., Any]) -> Pointwise:
    """A function given by a caller, with a check that it returns one number per entry."""

    def checked(x: FloatArray) -> FloatArray:
        found = real_array(function(x), "what a function of the nonlinearity returns")
        if found.shape != x.shape:
            raise SettingError(
                f"a function of the nonlinearity must return one number for each entry; found shape "
                f"{found.shape} for {x.shape}. Let it work entry by entry, as np.exp does."
            )
        return found.astype(np.float64, copy=False)

    return checked
