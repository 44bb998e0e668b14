"""Paraproducts of matrices on trees: a nonlinear function of a matrix as a linearised part and a residual."""

from __future__ import annotations

from collections.abc import Mapping

import numpy.typing as npt

from haarbor.paraproducts._forms import FORMS, Form, Paraproduct, Question, paraproducts
from haarbor.paraproducts._nonlinearities import NonlinearityChoice
from haarbor.trees import PartitionTree, row_and_column_trees

__all__ = ["MATRIX_AXES", "paraproduct", "paraproduct_forms"]

MATRIX_AXES = ("row", "column")


def paraproduct(
    f: npt.ArrayLike,
    row_tree: PartitionTree | None = None,
    column_tree: PartitionTree | None = None,
    nonlinearity: NonlinearityChoice = "exp",
    form: Form = "corrected+marginals",
    mask: npt.ArrayLike | None = None,
    *,
    trees: Mapping[str, PartitionTree] | None = None,
) -> Paraproduct:
    r"""Nonlinearity of a matrix on two trees, split into a paraproduct and a residual.

    For a function that is mixed-Hölder of exponent :math:`\alpha` on the trees, the residual of the
    corrected forms has coefficients that decay at :math:`2\alpha`.

    Parameters
    ----------
    f : array_like of float, shape (N, M)
    row_tree, column_tree : PartitionTree
        With N and M items.
    nonlinearity : str or functions (A, A', A''), default "exp"
        "exp", "sigmoid", "tanh", "square", "cube", "gaussian", "inverse potential" (formulas at
        :func:`haarbor.paraproducts.pointwise_nonlinearity`), "softmax" for the true softmax of every row.
    form : {"paper", "paper+boundary", "corrected", "corrected+marginals"}
        See Notes.
    mask : array_like of bool, shape (N, M), optional
        True where an entry is valid; means are over valid entries only.
    trees : mapping of axis name to PartitionTree, optional
        {"query": row tree, "key": column tree}, such as the trees of an Organization, in place of
        `row_tree` and `column_tree`.

    Returns
    -------
    Paraproduct

    Raises
    ------
    ShapeError, TreeError, SettingError
        If the arguments do not fit each other, or a choice is not offered.
    DataError
        If a valid entry is not finite, or the nonlinearity overflows at one.

    See Also
    --------
    haarbor.paraproducts.paraproduct_forms : All four forms at once.
    haarbor.softmax_invariance : How nearly linear the softmax of a head is.
    haarbor.paraproducts.telescoping : The exact identity.
    haarbor.holder_exponent : Smoothness on trees.

    Notes
    -----
    With :math:`f_{\ell s}` the means over rectangles of level-:math:`\ell` row folders and
    level-:math:`s` column folders, :math:`u = f_{\ell s}`, :math:`x = f_{\ell+1,s} - u`,
    :math:`y = f_{\ell,s+1} - u`, :math:`w = f_{\ell+1,s+1} - u - x - y`, and
    :math:`\Pi = \sum_{\ell s} A'(u) w + A''(u) x y`, the forms are

    - ``paper``: :math:`\Pi` (arXiv 2506.15541, eq. 12);
    - ``paper+boundary``: :math:`A(f_{L0}) + A(f_{0S}) - A(f_{00}) + \Pi`;
    - ``corrected``: :math:`A(f_{00}) + \sum_\ell A'(P_\ell f)(P_{\ell+1} f - P_\ell f) +
      \sum_s A'(Q_s f)(Q_{s+1} f - Q_s f) - \Pi`, :math:`P` averaging rows only and :math:`Q` columns;
    - ``corrected+marginals``: that, with the parts that depend on one variable alone made exact.

    For the softmax :math:`A'` and :math:`A''` are its Jacobian and second derivative at the softmax
    of the means, in every form. Time and memory are linear in the matrix,
    :math:`O(|T_r||T_c|)`; with "softmax" and a mask, times the depth of the row tree.

    Examples
    --------
    >>> pair = PartitionTree([[0, 0], [0, 1]])
    >>> split = paraproduct([[0.0, 2.0], [2.0, 8.0]], pair, pair, "square", form="corrected")
    >>> split.terms["mean"][0, 0], split.terms["linear row"].tolist()
    (np.float64(9.0), [[-2.0, -30.0], [2.0, 30.0]])
    >>> split.value.round(12).tolist()
    [[0.0, 4.0], [4.0, 64.0]]
    >>> split.residual.round(12).tolist()  # w^2 = 1, and x^2 = y^2 = 4 once each
    [[9.0, 9.0], [9.0, 9.0]]
    """
    pair = row_and_column_trees(row_tree, column_tree, trees)
    return paraproducts(Question(f, pair, MATRIX_AXES, nonlinearity, mask), (form,))[form]


def paraproduct_forms(
    f: npt.ArrayLike,
    row_tree: PartitionTree | None = None,
    column_tree: PartitionTree | None = None,
    nonlinearity: NonlinearityChoice = "exp",
    mask: npt.ArrayLike | None = None,
    *,
    trees: Mapping[str, PartitionTree] | None = None,
) -> dict[Form, Paraproduct]:
    """All four forms of :func:`paraproduct`; what they have in common is computed once.

    Parameters
    ----------
    f, row_tree, column_tree, nonlinearity, mask, trees
        As for :func:`paraproduct`.

    Returns
    -------
    dict of form to Paraproduct

    See Also
    --------
    haarbor.paraproduct : A nonlinearity, split.

    Examples
    --------
    >>> pair = PartitionTree([[0, 0], [0, 1]])
    >>> forms = paraproduct_forms([[0.0, 2.0], [2.0, 8.0]], pair, pair, "square")
    >>> {form: round(split.relative_error, 3) for form, split in forms.items()}
    {'paper': 0.9, 'paper+boundary': 0.179, 'corrected': 0.28, 'corrected+marginals': 0.031}
    """
    pair = row_and_column_trees(row_tree, column_tree, trees)
    return paraproducts(Question(f, pair, MATRIX_AXES, nonlinearity, mask), FORMS)
