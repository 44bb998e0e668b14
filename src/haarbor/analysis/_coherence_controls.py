"""Coherence of an organised tensor against what chance would give."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from haarbor.analysis._classical_trees import classical_trees
from haarbor.array_types import BoolArray, FloatArray, frozen
from haarbor.errors import AffinityWarning, DataError, SettingError
from haarbor.named_axes import checked_mask
from haarbor.on_progress import OnProgress
from haarbor.options import require_function, require_kind, require_whole_number
from haarbor.questionnaire import Content, Organization, neutral_tensor, organize
from haarbor.stored_result import stored_result
from haarbor.trees import PartitionTree, halved_tree, ordered_tree_like, random_tree_like
from haarbor.wavelets import haar_l1

__all__ = ["CONTROLS", "CoherenceControls", "Control", "coherence_controls"]

Control = Literal[
    "shuffled_items",
    "random_trees",
    "shuffled_entries",
    "original_order",
    "same_shape_order",
    "average_linkage",
    "ward_linkage",
]
CONTROLS: tuple[Control, ...] = get_args(Control)
"""In the order in which tables list them."""


def _without_shapes(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "same_shape_order": None, "average_linkage": None, "ward_linkage": None}


@stored_result("CoherenceControls", version=2, upgrades={1: _without_shapes})
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CoherenceControls:
    """Coherence of a tensor on its trees, and of controls to compare it with.

    Coherence is the l1 norm of the Haar expansion: the sum of the absolute coefficients. Lower is better.
    All of it is measured on the data that the trees were built from, so trees that were searched for are
    flattered; :func:`haarbor.analysis.held_out_coherence` is the fair figure.
    """

    organised: float
    """On the trees that the questionnaire found."""
    shuffled_items: FloatArray
    """On the same trees with their items shuffled, shape (n_seeds,)."""
    random_trees: FloatArray
    """On random trees with as many folders on every level, shape (n_seeds,)."""
    shuffled_entries: FloatArray
    """Of the tensor with its valid entries shuffled, organised afresh, shape (n_seeds,)."""
    original_order: FloatArray
    """On trees that halve the original order again and again, shape (1,): this control is not random."""
    same_shape_order: FloatArray | None = None
    """On trees of the shape of those found, with the items in their original order, shape (1,): what the
    order is worth where wide and narrow folders are compared with their like. None in results of a
    version that did not make it."""
    average_linkage: FloatArray | None = None
    """On trees of scipy's average linkage of the slices of each axis, shape (1,), or None."""
    ward_linkage: FloatArray | None = None
    """On trees of scipy's Ward linkage of the slices of each axis, shape (1,), or None."""
    seed: int

    @property
    def made(self) -> tuple[Control, ...]:
        """The controls that were made; results of earlier versions have fewer."""
        return tuple(control for control in CONTROLS if getattr(self, control) is not None)

    @property
    def n_seeds(self) -> int:
        """How often each random control was made."""
        return int(self.shuffled_items.size)

    def ratios(self, control: Control) -> FloatArray:
        """Coherence of a control divided by that of the organised tensor, one entry per seed.

        Above 1 the control is worse than the organised tensor.
        """
        if control not in CONTROLS:
            raise SettingError(
                f"control must be one of {', '.join(CONTROLS)}; found {control!r}. Name one of them."
            )
        if control not in self.made:
            raise SettingError(
                f"control must be one that was made, {', '.join(self.made)}; found {control!r}. Make the "
                "controls again."
            )
        found: FloatArray = getattr(self, control) / self.organised
        return found

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {float(self.ratios(name).mean()):.2f}x" for name in self.made)
        return f"CoherenceControls({self.organised:.6g}; {told}; {self.n_seeds} seeds)"


def coherence_controls(
    X: npt.ArrayLike,
    organization: Organization,
    *,
    mask: npt.ArrayLike | None = None,
    content: Content = "auto",
    n_seeds: int = 5,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> CoherenceControls:
    r"""Compare the coherence of an organised tensor with controls that have less structure.

    Parameters
    ----------
    X : array_like of float, the organised shape
    organization : Organization
        Trees of `X`; the tensor with shuffled entries is organised with the same settings.
    mask : array_like of bool, shape (n_queries, n_keys) or X.shape, optional
        True where valid. Only valid entries are shuffled, among themselves, so that the control keeps
        the shape of the mask: that shape is given, not discovered.
    content : {"auto", "logits", "probabilities"}, default "auto"
        What masked entries are taken to be, see :func:`haarbor.organize`.
    n_seeds : int, default 5
        How often each random control is made.
    seed : int, default 0
    on_progress : function of (step, done, total), optional

    Returns
    -------
    CoherenceControls

    Raises
    ------
    DataError
        If every entry is zero: then no tree is better than another.
    SettingError
        If an argument is of another kind, or `n_seeds` is not at least 1.

    See Also
    --------
    haarbor.haar_l1 : Sum of the sizes of all coefficients.
    haarbor.analysis.held_out_coherence : Trees measured on data they were not built from.
    haarbor.trees.random_tree_like : Random tree of the same shape.

    Notes
    -----
    A ratio is :math:`\|X'\|_{T'} / \|X\|_T`, the l1 norm of a control over that of the organised tensor
    (:func:`haarbor.haar_l1`).

    Cost: `n_seeds` times that of organising the tensor.

    Examples
    --------
    >>> blocks = np.kron(np.eye(4), np.ones((2, 2)))
    >>> org = organize(blocks, axes=("query", "key"))
    >>> found = coherence_controls(blocks, org)
    >>> round(found.organised, 6), found.ratios("original_order").round(6).tolist()
    (8.0, [1.0])
    >>> bool((found.ratios("shuffled_items") > 1.2).all())
    True
    """
    require_kind("organization", organization, Organization, "Pass what haarbor.organize gives.")
    require_whole_number("n_seeds", n_seeds, 1)
    require_whole_number("seed", seed)
    require_function("on_progress", on_progress)
    axes = organization.axes
    tensor, kind = neutral_tensor(X, axes, mask, content)
    if not tensor.any():
        raise DataError("coherence needs an entry that is not zero; all are. Look at the tensor.")
    trees = organization.trees
    found: dict[str, list[float]] = {"shuffled_items": [], "random_trees": [], "shuffled_entries": []}
    valid: BoolArray = np.ones(tensor.shape, dtype=bool)
    if mask is not None:
        valid = np.broadcast_to(checked_mask(mask, axes, tensor.shape), tensor.shape)
    for place in range(n_seeds):
        rng = np.random.default_rng([seed, place])
        shuffled = {axis: tree.permuted(rng.permutation(tree.n_items)) for axis, tree in trees.items()}
        found["shuffled_items"].append(haar_l1(tensor, shuffled, axes))
        random = {axis: random_tree_like(tree, rng) for axis, tree in trees.items()}
        found["random_trees"].append(haar_l1(tensor, random, axes))
        found["shuffled_entries"].append(_shuffled_coherence(tensor, valid, kind, organization, rng))
        if on_progress is not None:
            on_progress("controls", place + 1, n_seeds)
    fixed: dict[str, Mapping[str, PartitionTree]] = {
        "original_order": {axis: halved_tree(tree.n_items) for axis, tree in trees.items()},
        "same_shape_order": {axis: ordered_tree_like(tree) for axis, tree in trees.items()},
        "average_linkage": classical_trees(tensor, axes, "average"),
        "ward_linkage": classical_trees(tensor, axes, "ward"),
    }
    for name, others in fixed.items():
        found[name] = [haar_l1(tensor, others, axes)]
    return CoherenceControls(
        organised=haar_l1(tensor, trees, axes),
        **{name: frozen(np.array(values)) for name, values in found.items()},
        seed=int(seed),
    )


def _shuffled_coherence(
    tensor: FloatArray,
    valid: BoolArray,
    kind: Literal["logits", "probabilities", "unmasked"],
    organization: Organization,
    rng: np.random.Generator,
) -> float:
    """Coherence of the tensor with its valid entries shuffled, on trees found for the shuffled tensor."""
    settings = organization.settings
    # Given first trees are the first of their axis.
    start = {axis: organization.history[axis][0] for axis in settings.axes if organization.history[axis]}
    shuffled = tensor.copy()
    shuffled[valid] = rng.permutation(tensor[valid])
    if kind != "unmasked":
        shuffled = neutral_tensor(shuffled, settings.axes, valid, kind)[0]
    with warnings.catch_warnings():
        # Shuffling may leave a slice of zeros by chance; that says nothing about the user's tensor.
        warnings.simplefilter("ignore", AffinityWarning)
        again = organize(
            shuffled, settings.axes, n_iterations=settings.n_iterations, initial=settings.initial,
            alpha=settings.alpha, beta=settings.beta, tree=settings.tree,
            tree_constant=settings.tree_constant, cut=settings.cut, refine=settings.refine,
            restraint=settings.restraint, tolerance=settings.tolerance,
            start=start if settings.start == "given" else settings.start,
        )  # fmt: skip
    return haar_l1(shuffled, again.trees, settings.axes)
