"""One tree of the heads of a network from several batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, frozen, real_array
from haarbor.binary_scale import excess_exponent, scaled, unscaled
from haarbor.engines import L1Engine, engine_named
from haarbor.errors import SettingError, ShapeError
from haarbor.options import found_text, require_choice
from haarbor.questionnaire._organization import Organization
from haarbor.questionnaire._settings import QuestionnaireSettings
from haarbor.questionnaire._streamed_tensor import StreamedTensor
from haarbor.spectral import distance_affinity
from haarbor.stored_result import stored_result
from haarbor.transport import tree_emd
from haarbor.trees import PartitionTree, build_tree, partition_distance
from haarbor.wavelets import haar_transform

__all__ = ["Consensus", "OwnDistances", "consensus", "distances_on_own_trees"]

# What the items of all batches, laid side by side for a Haar tree, may take.
_MOST_BYTES = 512 << 20


@stored_result("Consensus")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Consensus:
    """Organisation of one axis over several batches together, and how far each batch agrees.

    See Also
    --------
    haarbor.consensus : One tree from all batches.
    """

    axis: str
    tree: PartitionTree
    affinity: FloatArray
    """Affinity of the summed distances, shape (n, n)."""
    distances: FloatArray
    """Tree EMD summed over batches, shape (n, n)."""
    tree_distance: FloatArray
    """Partition distance of each batch's own tree to the consensus tree, shape (n_batches,)."""
    distance_correlation: FloatArray
    """Correlation of each batch's distances with the sum of the others', shape (n_batches,).

    NaN for a single batch, or where all distances are equal.
    """

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return int(self.tree_distance.size)

    def __repr__(self) -> str:
        return (
            f"Consensus({self.tree.n_items} {self.axis}s, {self.n_batches} batches, "
            f"mean tree distance {float(self.tree_distance.mean()):.3f})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class OwnDistances:
    """In place of the tensor of a batch, its distances along its own trees, summed elsewhere."""

    values: FloatArray


def distances_on_own_trees(
    tensor: Any,
    trees: Mapping[str, PartitionTree],
    settings: QuestionnaireSettings,
    axis: str,
    engine: L1Engine,
) -> FloatArray:
    """Tree EMD between the slices of `axis` along the trees that the batch has on its other axes.

    Parameters
    ----------
    tensor : array_like, StreamedTensor or OwnDistances
    trees : mapping of axis name to PartitionTree
        Of all axes.
    settings : QuestionnaireSettings
        Those that made the trees.
    axis : str
    engine : L1Engine

    Returns
    -------
    ndarray of float64, shape (n, n)

    See Also
    --------
    haarbor.tree_emd : Distances along trees.
    haarbor.consensus : One tree from all batches.
    """
    if isinstance(tensor, OwnDistances):
        return tensor.values
    others = {name: tree for name, tree in trees.items() if name != axis}
    alpha, beta = settings.alpha, settings.beta
    if isinstance(tensor, StreamedTensor):
        exponents = {name: (alpha[name], beta[name]) for name in others}
        return tensor.tree_emd(axis, others, exponents, engine)
    return tree_emd(tensor, others, settings.axes, alpha=alpha, beta=beta, engine=engine)


def consensus(
    tensors: Iterable[npt.ArrayLike],
    organizations: Sequence[Organization],
    *,
    axis: str = "head",
    engine: str | L1Engine = "auto",
) -> Consensus:
    r"""One tree of an axis from the distances of all batches together.

    Each batch compares the heads along its own final trees of queries and keys; the distances
    are added, and the sum is turned into an affinity and a tree as for one batch.

    Parameters
    ----------
    tensors : iterable of array_like of float
        One per batch, with the axes of its organisation; read one at a time. The number of tokens may
        differ between batches, the items of `axis` may not.
    organizations : sequence of Organization
        One per batch.
    axis : str, default "head"
    engine : {"auto", "cpu", "gpu"} or L1Engine, default "auto"

    Returns
    -------
    Consensus

    Raises
    ------
    ShapeError
        If batches differ in the items of `axis`, or there are not as many tensors as organisations.

    See Also
    --------
    haarbor.organize : Trees of one tensor.
    haarbor.organize_run : Organise and score every batch of a run.
    haarbor.ranking_stability : Agreement of rankings over batches.

    Notes
    -----
    :math:`D = \sum_b \mathrm{EMD}_b`; the tree is built from :math:`\exp(-D/\operatorname{median} D)`
    with the settings of the first organisation. A Haar tree is not built from distances: it lowers the
    sum of the l1 norms of all batches. So the items of each batch, expanded along its own trees, are laid
    side by side; of very many batches every batch gives every second, third ... column, so that all
    together take no more than 512 MB.
    """
    organizations = _checked(organizations, axis)
    summing = engine_named(engine)
    try:
        rest = iter(tensors)
    except TypeError:
        raise ShapeError(
            f"tensors must be one for each organisation; found {found_text(tensors)}. Pass a list of arrays."
        ) from None
    each: list[FloatArray] = []
    settings = organizations[0].settings
    features: list[FloatArray] = []
    # zip asks the organisations first, so no tensor is read when they are at their end.
    for organization, tensor in zip(organizations, rest, strict=False):
        # Read once: it may lie in a run.
        array = real_array(tensor) if settings.tree == "haar" else tensor
        distances = distances_on_own_trees(array, organization.trees, organization.settings, axis, summing)
        if each and distances.shape != each[0].shape:
            raise ShapeError(
                f"all batches must have the same {axis}s; found {each[0].shape[0]} and {distances.shape[0]}. "
                f"Leave out the batches with other {axis}s."
            )
        each.append(distances)
        if settings.tree == "haar":
            trees = {name: tree for name, tree in organization.trees.items() if name != axis}
            features.append(_expanded_items(array, trees, organization.axes, axis, len(organizations)))
    is_short = len(each) < len(organizations)
    if is_short or any(True for _ in rest):
        raise ShapeError(
            f"there must be a tensor for each organisation; found {'' if is_short else 'more than '}"
            f"{len(each)} for {len(organizations)}. Pass as many as there are organisations."
        )
    with np.errstate(over="ignore"):
        total = unscaled(np.sum(each, axis=0), 0, "the sum of the distances")
    affinity = distance_affinity(total)
    tree = build_tree(
        np.concatenate(features, axis=1) if features else affinity,
        tree=settings.tree,
        tree_constant=settings.tree_constant,
        cut=settings.cut,
        restraint=settings.restraint,
    )
    return Consensus(
        axis=axis,
        tree=tree,
        affinity=frozen(affinity),
        distances=frozen(total),
        tree_distance=frozen(np.array([partition_distance(o.trees[axis], tree) for o in organizations])),
        distance_correlation=frozen(np.array([_correlation(one, total - one) for one in each])),
    )


def _expanded_items(
    tensor: npt.ArrayLike,
    trees: Mapping[str, PartitionTree],
    axes: Sequence[str],
    axis: str,
    n_batches: int,
) -> FloatArray:
    """Items of an axis as rows, expanded along the trees of the others; thinned if all would be too many."""
    place = list(axes).index(axis)
    coefficients = np.moveaxis(haar_transform(tensor, trees, axes), place, 0)
    rows: FloatArray = coefficients.reshape(coefficients.shape[0], -1)
    step = -(-rows.nbytes * n_batches // _MOST_BYTES)
    return np.ascontiguousarray(rows[:, ::step])


def _checked(organizations: Sequence[Organization], axis: str) -> Sequence[Organization]:
    """The organisations, after checking that there is at least one and that all have the axis."""
    if not isinstance(organizations, Sequence) or not all(isinstance(o, Organization) for o in organizations):
        raise SettingError(
            f"organizations must be a sequence of Organization; found {found_text(organizations)}. "
            "Pass what organize returned for each batch."
        )
    if not organizations:
        raise SettingError("a consensus needs at least one batch; found none. Organise one first.")
    for organization in organizations:
        require_choice("axis", axis, organization.axes)
    return organizations


def _correlation(one: FloatArray, others: FloatArray) -> float:
    upper = np.triu_indices(one.shape[0], 1)
    # Products of two very small or very large distances would leave the range of float64.
    a, b = (scaled(m, excess_exponent(m))[upper] for m in (one, others))
    if a.size < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])
