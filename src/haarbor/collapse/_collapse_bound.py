"""How fast the residual of pure attention must fall, by the theorem of Dong, Cordonnier and Loukas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, frozen
from haarbor.collapse._attention_stack import AttentionStack
from haarbor.errors import SettingError
from haarbor.options import require_kind, require_real_number, require_whole_number

__all__ = ["SMALL", "CollapseBound", "collapse_bound", "stack_bound"]

SMALL = 1.256
"""exp(D) - 1 is at most 2 D for D up to this."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CollapseBound:
    """Upper bound of the composite norm of the residual, before the first layer and after each."""

    log10: FloatArray
    """Logarithm to base 10, shape (n_layers + 1,): the bound itself soon leaves the range of numbers."""
    holds: bool
    """Whether the scores are small enough for the theorem to be proved."""
    falls: bool
    """Whether the bound falls: otherwise it says nothing."""


def collapse_bound(
    residual: float, *, n_layers: int, n_heads: int, beta: float, gamma: float, qk_width: int
) -> FloatArray:
    r"""Logarithms to base 10 of the doubly exponential bound.

    Parameters
    ----------
    residual : float
        Composite norm of the residual of the tokens that enter the first layer.
    n_layers, n_heads, qk_width : int
    beta, gamma : float
        Sizes of the weights and of the attention; see :func:`stack_bound`.

    Returns
    -------
    ndarray of float64, shape (n_layers + 1,)

    See Also
    --------
    haarbor.collapse.stack_bound : The bound for a stack.
    haarbor.collapse.network_bound : The bound for a network.

    Notes
    -----
    After :math:`L` layers of :math:`H` heads,

    .. math:: \|\mathrm{res}\| \le (4 \gamma \beta H / \sqrt{d})^{(3^L - 1)/2} \, \|\mathrm{res}_0\|^{3^L}.

    Every layer takes the residual :math:`r` to :math:`4 \gamma \beta H r^3 / \sqrt{d}` at most.

    Examples
    --------
    With 4 gamma beta H / root d = 1, a residual of 0.1 has its digits multiplied by three in every layer:

    >>> collapse_bound(0.1, n_layers=3, n_heads=1, beta=0.5, gamma=1.0, qk_width=4).round(9).tolist()
    [-1.0, -3.0, -9.0, -27.0]
    """
    least: dict[str, float] = {"residual": residual, "beta": beta, "gamma": gamma}
    for name, value in least.items():
        require_real_number(name, value, positive=True)
    # 3 to this power is still a number.
    require_whole_number("n_layers", n_layers, 1, 600)
    require_whole_number("n_heads", n_heads, 1)
    require_whole_number("qk_width", qk_width, 1)
    step = np.log10(4 * n_heads / np.sqrt(qk_width)) + np.log10(gamma) + np.log10(beta)
    powers = 3.0 ** np.arange(n_layers + 1)
    bound: FloatArray = (powers - 1) / 2 * step + powers * np.log10(residual)
    return bound


def stack_bound(stack: AttentionStack, residual: float, n_tokens: int) -> CollapseBound:
    r"""The bound for a stack of attention without skip connections.

    Parameters
    ----------
    stack : AttentionStack
        Without skips.
    residual : float
        Composite norm of the residual of the tokens, against any vector in common.
    n_tokens : int

    Returns
    -------
    CollapseBound

    Raises
    ------
    SettingError
        If the stack has skip connections, for which there is no such bound.

    See Also
    --------
    haarbor.collapse.collapse_bound : The bound of the theorem.
    haarbor.collapse.network_bound : The bound for a network.

    Notes
    -----
    :math:`\gamma = \sqrt{n}` for :math:`n` tokens, which holds whatever the attention is. And because the
    composite norm has no triangle inequality, :math:`\beta` takes the largest
    :math:`\|Q_h K_h^T\|_1` times the root of the largest :math:`\|W_h\|_1` times the largest
    :math:`\|W_h\|_\infty`, each over all heads by itself; the largest product of one head, as it is
    published, would not do.
    """
    require_kind("stack", stack, AttentionStack, "Pass an AttentionStack.")
    if stack.skips:
        raise SettingError(
            "the bound is for attention without skip connections; the stack has them. Pass one without."
        )
    require_whole_number("n_tokens", n_tokens, 1)
    scores = np.abs(stack.query @ stack.key.transpose(0, 1, 3, 2)).sum(axis=2).max()
    outputs = np.abs(stack.value_output)
    beta = float(scores * np.sqrt(outputs.sum(axis=2).max() * outputs.sum(axis=3).max()))
    qk_width = int(stack.query.shape[3])
    log10 = collapse_bound(
        residual,
        n_layers=stack.n_layers,
        n_heads=stack.n_heads,
        beta=beta,
        gamma=float(np.sqrt(n_tokens)),
        qk_width=qk_width,
    )
    # A head of no scores at all attends evenly, whatever the residual is.
    steepest = -np.inf if scores == 0 else np.log10(2 * scores / np.sqrt(qk_width)) + 2 * log10[:-1].max()
    return CollapseBound(
        log10=frozen(log10),
        holds=bool(steepest <= np.log10(SMALL)),
        falls=bool(log10[1] < log10[0]),
    )
