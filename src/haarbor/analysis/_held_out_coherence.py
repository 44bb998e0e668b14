"""Coherence of data on trees that were built without it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from haarbor.analysis._asked_part import asked_part
from haarbor.analysis._classical_trees import CLASSICAL, classical_trees
from haarbor.analysis._valid_tokens import valid_tokens
from haarbor.array_types import FloatArray, frozen
from haarbor.errors import AffinityWarning, DataError, SettingError
from haarbor.named_axes import checked_tensor
from haarbor.on_progress import OnProgress
from haarbor.options import found_text, require_choice, require_function, require_kind, require_whole_number
from haarbor.questionnaire import BUILDERS, organize
from haarbor.store import Run, RunPart
from haarbor.stored_result import stored_result
from haarbor.trees import PartitionTree, halved_tree, require_trees_fit
from haarbor.wavelets import haar_l1

__all__ = ["METHODS", "HeldOutCoherence", "held_out_coherence"]

_AXES = ("query", "key", "head")
Trees = Mapping[str, PartitionTree]
METHODS = (*BUILDERS, *CLASSICAL, "order")
"""Ways to build trees that have a name: those of `organize`, scipy's linkages, and the order of the items."""


@stored_result("HeldOutCoherence")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeldOutCoherence:
    """How well trees fit data that they were not built from, beside the order of the items.

    All figures are ratios: the l1 norm of the Haar expansion on order trees, which halve the items in
    their own order again and again, over that on the trees. Above 1 the trees are better.
    """

    method: str
    """How the trees were built."""
    heads: FloatArray
    """Trees of queries and keys from half of the heads, measured on the other half with the order tree
    of the heads; shape (n_batches, 2 * n_splits), each split both ways."""
    batches: FloatArray
    """Head tree of a batch, measured on the next with order trees of queries and keys; shape
    (n_batches - 1,)."""
    in_sample: FloatArray
    """All trees on the data they were built from, which says little: any tree that is found fits noise
    too; shape (n_batches,)."""
    depth: Mapping[str, FloatArray]
    """Relative depth of the tree of each axis, 1 for a balanced one, shape (n_batches,)."""
    seed: int

    @property
    def mean_heads(self) -> float:
        """Mean over batches and splits of heads."""
        return float(self.heads.mean())

    @property
    def error_heads(self) -> float:
        """Standard error of that mean over batches; over splits if there is one batch."""
        return _standard_error(_per_batch(self.heads))

    @property
    def mean_batches(self) -> float:
        """Mean over pairs of batches; NaN if there is one batch."""
        return float(self.batches.mean()) if self.batches.size else float("nan")

    @property
    def error_batches(self) -> float:
        """Standard error of that mean."""
        return _standard_error(self.batches)

    def lead_over(
        self, other: HeldOutCoherence, of: Literal["heads", "batches"] = "heads"
    ) -> tuple[float, float]:
        """Mean difference to another method on the same batches and splits, and its standard error.

        Parameters
        ----------
        other : HeldOutCoherence
        of : {"heads", "batches"}, default "heads"
            Which of the two figures.

        Raises
        ------
        SettingError
            If the other was measured on other batches or splits.
        """
        require_kind("other", other, HeldOutCoherence, "Pass what held_out_coherence gives.")
        if other.heads.shape != self.heads.shape or other.seed != self.seed:
            raise SettingError(
                "two methods must be measured on the same batches and splits; found "
                f"{self.heads.shape} with seed {self.seed} and {other.heads.shape} with seed {other.seed}. "
                "Call held_out_coherence with the same arguments for both."
            )
        require_choice("of", of, ("heads", "batches"))
        lead = _per_batch(self.heads - other.heads) if of == "heads" else self.batches - other.batches
        return float(lead.mean()) if lead.size else float("nan"), _standard_error(lead)

    def __repr__(self) -> str:
        told = f"{self.method}; heads {self.mean_heads:.3f} ± {self.error_heads:.3f}"
        if self.batches.size:
            told += f", batches {self.mean_batches:.3f} ± {self.error_batches:.3f}"
        return f"HeldOutCoherence({told})"


def held_out_coherence(
    tensors: Run | RunPart | Sequence[npt.ArrayLike],
    method: str | Mapping[str, Any] | Callable[[FloatArray], Trees] = "flexible",
    *,
    n_splits: int = 1,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> HeldOutCoherence:
    r"""Measure trees on heads and on batches that they were not built from.

    Trees that were searched for fit the noise of their data as well. So query and key trees are built from
    one half of the heads and measured on the other, and the head tree of a batch is measured on the next.

    Parameters
    ----------
    tensors : Run, RunPart or sequence of array_like, shape (n_queries, n_keys, n_heads)
        One tensor per batch, with the same heads. Entries that are masked must have their neutral value
        (:func:`haarbor.organize` says which); those of a run get it.
    method : str, mapping or function, default "flexible"
        How trees are built: one of :data:`METHODS`, options of :func:`haarbor.organize`, or a function from
        a tensor to its trees by axis.
    n_splits : int, default 1
        How often the heads are divided at random; each half serves the other.
    seed : int, default 0
        Methods with the same seed are measured on the same halves.
    on_progress : function of (step, done, total), optional

    Returns
    -------
    HeldOutCoherence

    Raises
    ------
    DataError
        If there is no batch, a batch has a single head or no entry but zeros, or the heads differ.
    SettingError
        If an argument is of another kind.

    See Also
    --------
    haarbor.haar_l1 : Sum of the sizes of all coefficients.
    haarbor.analysis.coherence_controls : Coherence beside controls.
    haarbor.analysis.compare_builders : All builders of a run in a table.

    Notes
    -----
    Each figure is :math:`\|X\|_{order} / \|X\|_{tree}`, the l1 norm of the Haar expansion
    (:func:`haarbor.haar_l1`), on trees that halve the order as given, of data that were not used, over that
    on the trees; above 1 the trees are better.

    Each batch is organised ``2 * n_splits + 1`` times.

    Examples
    --------
    >>> from haarbor.datasets import synthetic_attention
    >>> batches = [synthetic_attention(16, 1, 4, batch=batch) for batch in range(2)]
    >>> held_out_coherence(batches, "order").heads.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    name, build = _builder(method)
    require_whole_number("n_splits", n_splits, 1)
    require_whole_number("seed", seed)
    require_function("on_progress", on_progress)
    total, each = _batches(tensors)
    heads, batches, in_sample = [], [], []
    depth: dict[str, list[float]] = {axis: [] for axis in _AXES}
    before: Trees | None = None
    for place, X in enumerate(each):
        if before is not None:
            if before["head"].n_items != X.shape[2]:
                raise DataError(
                    f"all batches must have the same heads; found {before['head'].n_items} and {X.shape[2]}. "
                    "Leave out the batches with other heads."
                )
            batches.append(_ratio(X, {"head": before["head"]}))
        heads.append(_split_ratios(X, build, np.random.default_rng([seed, place]), n_splits))
        before = build(X)
        in_sample.append(_ratio(X, before))
        for axis in _AXES:
            depth[axis].append(before[axis].relative_depth)
        if on_progress is not None:
            on_progress("held-out coherence", place + 1, total)
    return HeldOutCoherence(
        method=name,
        heads=frozen(np.array(heads)),
        batches=frozen(np.array(batches)),
        in_sample=frozen(np.array(in_sample)),
        depth={axis: frozen(np.array(values)) for axis, values in depth.items()},
        seed=int(seed),
    )


def _split_ratios(
    X: FloatArray, build: Callable[[FloatArray], Trees], rng: np.random.Generator, n_splits: int
) -> list[float]:
    found = []
    for _ in range(n_splits):
        order = rng.permutation(X.shape[2])
        half = X.shape[2] // 2
        # In their own order: the order tree of the heads is that of layers.
        one, other = (np.ascontiguousarray(X[:, :, np.sort(part)]) for part in (order[:half], order[half:]))
        for seen, held_out in ((one, other), (other, one)):
            trees = build(seen)
            found.append(_ratio(held_out, {axis: trees[axis] for axis in ("query", "key")}))
    return found


def _ratio(X: FloatArray, trees: Trees) -> float:
    """l1 norm on order trees over that on `trees`, with order trees of the other axes."""
    plain = {axis: halved_tree(n) for axis, n in zip(_AXES, X.shape, strict=True)}
    norm = haar_l1(X, plain, _AXES)
    if norm == 0:
        raise DataError("coherence needs an entry that is not zero; all are. Look at the tensor.")
    return norm / haar_l1(X, {**plain, **trees}, _AXES)


def _batches(tensors: Any) -> tuple[int, Iterator[FloatArray]]:
    """Number of batches, and the checked tensor of one after another."""
    if isinstance(tensors, Run | RunPart):
        part = asked_part(tensors)
        found: Iterator[Any] = (
            valid_tokens(part.tensor(batch), part.mask(batch)).filled(part.content) for batch in part.batches
        )
        total = len(part.batches)
    elif isinstance(tensors, Sequence) and not isinstance(tensors, str | bytes):
        found, total = iter(tensors), len(tensors)
    else:
        raise SettingError(
            f"tensors must be a run, or a list of one tensor per batch; found {found_text(tensors)}. "
            "Put a single tensor into a list."
        )
    if total == 0:
        raise DataError("held-out coherence needs at least one batch; found none. Pass one.")
    return total, (_checked(X) for X in found)


def _checked(tensor: npt.ArrayLike) -> FloatArray:
    X = checked_tensor(tensor, _AXES)
    if X.shape[2] < 2:
        raise DataError(
            f"held-out coherence needs at least two heads, one to be held out; found {X.shape[2]}. "
            "Take a network with more heads."
        )
    return X


def _builder(method: object) -> tuple[str, Callable[[FloatArray], Trees]]:
    """Name of a method, and the function from a tensor to its trees."""
    if isinstance(method, str) and method in METHODS:
        if method == "order":
            return method, lambda X: {axis: halved_tree(n) for axis, n in zip(_AXES, X.shape, strict=True)}
        if method in CLASSICAL:
            return method, lambda X: classical_trees(X, _AXES, method)  # type: ignore[arg-type]
        return method, lambda X: _organized(X, {"tree": method})
    if isinstance(method, Mapping):
        options = dict(method)
        told = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return told or "default", lambda X: _organized(X, options)
    if callable(method):
        own = method
        return getattr(method, "__name__", "function"), lambda X: _fitting(own(X), X)
    raise SettingError(
        f"method must be one of {', '.join(METHODS)}, options of organize, or a function from a tensor to "
        f"trees; found {found_text(method)}. Name one of them."
    )


def _organized(X: FloatArray, options: Mapping[str, Any]) -> Trees:
    with warnings.catch_warnings():
        # Half of the heads may leave a query with zeros only; that says nothing about the user's tensor.
        warnings.simplefilter("ignore", AffinityWarning)
        return organize(X, _AXES, **options).trees


def _fitting(trees: Any, X: FloatArray) -> Trees:
    if not isinstance(trees, Mapping) or not set(_AXES) <= set(trees):
        raise SettingError(
            "a method must give a tree for 'query', 'key' and 'head'; found "
            f"{found_text(list(trees) if isinstance(trees, Mapping) else trees)}. Return all three."
        )
    require_trees_fit(trees, _AXES, X.shape)
    return trees


def _per_batch(values: FloatArray) -> FloatArray:
    """Means of batches, or the values of the splits if there is one batch."""
    means: FloatArray = values.mean(axis=1) if values.shape[0] > 1 else values[0]
    return means


def _standard_error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")
