"""Paraproducts of tensors: the corrected form by inclusion and exclusion over sets of axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy.typing as npt

from haarbor.errors import SettingError
from haarbor.named_axes import axis_names, n_axes_of
from haarbor.paraproducts._forms import Form, Paraproduct, Question, paraproducts
from haarbor.paraproducts._nonlinearities import NonlinearityChoice
from haarbor.trees import PartitionTree, trees_by_axis

__all__ = ["tensor_paraproduct"]


def tensor_paraproduct(
    f: npt.ArrayLike,
    trees: Mapping[str, PartitionTree],
    axes: Sequence[str] | None = None,
    nonlinearity: NonlinearityChoice = "exp",
    form: Form = "corrected+marginals",
    mask: npt.ArrayLike | None = None,
) -> Paraproduct:
    r"""Pointwise nonlinearity of a tensor of one to three axes, split into a paraproduct and a residual.

    Parameters
    ----------
    f : array_like of float, one to three axes
    trees : mapping of axis name to PartitionTree
        One for every axis.
    axes : sequence of str, optional
        Axis names; ("query", "key") or ("query", "key", "head") if not given.
    nonlinearity : str or functions
        A name of :func:`paraproduct`, but not "softmax"; or A and as many derivatives as axes.
    form : {"paper", "paper+boundary", "corrected", "corrected+marginals"}
    mask : array_like of bool, shape of `f`, optional

    Returns
    -------
    Paraproduct

    See Also
    --------
    haarbor.paraproduct : A nonlinearity, split.

    Notes
    -----
    The corrected form is the inclusion and exclusion of linearisations along sets of axes,

    .. math:: A(\bar f) + \sum_{\emptyset \ne \sigma} (-1)^{|\sigma|+1} L_\sigma,

    :math:`L_\sigma` the sum over the scales of the axes in :math:`\sigma` of the mixed first
    derivative along them, at full resolution on the others. Its residual is of exponent
    :math:`2\alpha` in every axis for :math:`A \in C^{2d}`. ``paper`` is :math:`L` of all axes alone.

    Examples
    --------
    >>> import numpy as np
    >>> pair = PartitionTree([[0, 0], [0, 1]])
    >>> cube = np.arange(8.0).reshape(2, 2, 2)
    >>> split = tensor_paraproduct(cube, dict.fromkeys(("query", "key", "head"), pair), nonlinearity="square")
    >>> float(abs(split.residual).max())  # a sum of functions of one variable: no mixed difference at all
    0.0
    """
    names = axis_names(axes, n_axes_of(f))
    trees = trees_by_axis(trees)
    if not 1 <= len(names) <= 3:
        raise SettingError(f"a paraproduct must be of one to three axes; found {names}. Take a slice.")
    if isinstance(nonlinearity, str) and nonlinearity == "softmax":
        raise SettingError(
            "the nonlinearity of a tensor must work entry by entry; found 'softmax', which works on the "
            "rows of matrices. Use paraproduct on one head."
        )
    missing = [name for name in names if name not in trees]
    if missing:
        raise SettingError(
            f"there must be a tree for every axis of {names}; {missing[0]!r} has none. Pass one for each."
        )
    ordered = tuple(trees[name] for name in names)
    return paraproducts(Question(f, ordered, names, nonlinearity, mask), (form,))[form]
