"""The questionnaire: trees on all axes of a tensor, each refined by the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from haarbor.array_types import real_array
from haarbor.engines import (
    ClusterEngine,
    CpuEngine,
    GpuEngine,
    L1Engine,
    SampledEngine,
    engine_named,
    is_on_device,
)
from haarbor.errors import SettingError, ShapeError
from haarbor.named_axes import axis_names, n_axes_of
from haarbor.options import found_text, require_function
from haarbor.questionnaire._approximation import sampled_engine
from haarbor.questionnaire._descent import Descent
from haarbor.questionnaire._device_descent import DeviceDescent, haar_device_bytes
from haarbor.questionnaire._device_entries import checked_device_tensor
from haarbor.questionnaire._divided_tensor import DividedTensor
from haarbor.questionnaire._held_tensor import HeldTensor
from haarbor.questionnaire._masked_entries import Content, neutral_tensor
from haarbor.questionnaire._memory_plan import MemoryPlan, memory_plan
from haarbor.questionnaire._organization import Organization
from haarbor.questionnaire._questionnaire import Questionnaire
from haarbor.questionnaire._settings import QuestionnaireSettings
from haarbor.questionnaire._streamed_tensor import StreamedTensor
from haarbor.transport import device_bytes, exponent_by_axis, mapped_tensor, require_sums_fit
from haarbor.trees import (
    DEFAULT_RESTRAINT,
    PartitionTree,
    halved_tree,
    require_trees_fit,
    trees_by_axis,
)

__all__ = ["organize"]

_MASKED: Mapping[str, Any] = {
    "unmasked": "unmasked",
    "probabilities": "zero probabilities",
    "logits": "row mean of valid logits",
}


def organize(
    X: npt.ArrayLike,
    axes: Sequence[str] | None = None,
    *,
    n_iterations: int | None = None,
    initial: Literal["cosine", "gaussian"] = "cosine",
    alpha: float | Mapping[str, float] = 0.0,
    beta: float | Mapping[str, float] = 1.0,
    tree: Literal["flexible", "binary", "haar"] = "flexible",
    tree_constant: float = 1.0,
    cut: Literal["zero", "balanced"] = "zero",
    refine: Literal["latest", "published"] = "latest",
    restraint: float = DEFAULT_RESTRAINT,
    tolerance: float = 1e-4,
    start: Literal["auto", "order", "affinity"] | Mapping[str, PartitionTree] = "auto",
    engine: str | L1Engine = "auto",
    mask: npt.ArrayLike | None = None,
    content: Content = "auto",
    memory: int | str | None = None,
    on_plan: Callable[[MemoryPlan], object] | None = None,
    approximate: int | None = None,
) -> Organization:
    r"""Trees on all axes of a tensor, each built from distances along the trees of the others.

    Parameters
    ----------
    X : array_like of float, two or more axes
        float64 is computed in float64, float16 and float32 in float32. It is never changed. Numbers may
        be of any size. A numpy masked array is refused: pass its mask as `mask`. An array on a CUDA device,
        such as a torch tensor there, is organised on that device without a copy if its heads come first in
        memory.
    axes : sequence of str, optional
        Axis names, default ("query", "key", "head") or ("query", "key"). The axis named "head", or
        else the last one, has no initial tree: its first tree comes from the others.
    n_iterations : int, optional
        Largest number of iterations, at most 10000; by default 3, and for Haar trees as many as lower the
        objective. The loop ends early when the trees no longer change.
    initial : {"cosine", "gaussian"}, default "cosine"
        First affinity of every axis but the last.
    alpha, beta : float or mapping of axis name to float
        Folder weights of the tree EMD, :math:`(|F|/n)^\beta 2^{-\alpha \ell}`, for each axis' tree;
        between -1000 and 1000, and such that no weight exceeds :math:`2^{60}`.
    tree : {"flexible", "binary", "haar"}, default "flexible"
        Builder. The first two make the tree of an axis from an affinity, and minimise nothing over all
        axes. Haar trees lower one objective from step to step; see Notes.
    tree_constant : float, default 1
        For the flexible tree.
    cut : {"zero", "balanced"}, default "zero"
        For the binary tree.
    refine : {"latest", "published"}, default "latest"
        Whether the last axis is always compared along the newest trees, or (with three axes or
        more) always along the initial ones, as the program published with arXiv 2506.15541 does.
    restraint : float, default 0.01
        For Haar trees, between 0 and 1: the price of depth. How large a share of the first norm a tree must
        save to be deeper by :math:`\log_2 n` steps, the depth of a balanced tree.
    tolerance : float, default 1e-4
        For Haar trees: the loop ends when an iteration lowers the objective by less than this share.
    start : {"auto", "order", "affinity"} or mapping of axis name to PartitionTree, default "auto"
        First trees: "order" halves the items in their own order again and again, "affinity" builds them
        from the initial affinity. "auto" is "order" for Haar trees, which do not offer the other, and
        "affinity" for the rest. Given trees may be of some axes only; the others start as with "auto".
        Flexible and binary trees of the last axis are built at once from those of the others, so its own
        start is not used.
    engine : {"auto", "cpu", "gpu"} or L1Engine, default "auto"
        What sums the absolute differences. "auto" takes a GPU that CuPy sees if the work is worth it (or
        the data is there already), and the cores of this machine otherwise; the settings of the result say
        which.
    mask : array_like of bool, shape (n_queries, n_keys) or X.shape, optional
        True where (query, key) is valid. Only booleans are accepted, because ones could mean valid
        entries or, in masks that are added to scores, masked ones.
    content : {"auto", "logits", "probabilities"}, default "auto"
        What the tensor holds, which decides how masked entries are treated; see Notes.
    memory : int or str, optional
        What this process may take, in bytes or as in "2GB". A (query, key, head) tensor that does not fit,
        such as that of a run (``run.tensor()``) or a mapped file, is then read once into temporary files
        and from there in blocks; the trees are the same.
    on_plan : function of a MemoryPlan, optional
        Called before the work starts, where `memory` is given; ``print`` tells the plan.
    approximate : int, optional
        Folders to draw at random for every matrix of distances, for axes too long to sum over all; on the
        cores, and not for Haar trees. The settings of the result keep it, with an estimate of the error.

    Returns
    -------
    Organization

    Raises
    ------
    ShapeError, DataError, SettingError
        If the tensor, the mask or a setting cannot be used; the message says which, and where.

    See Also
    --------
    haarbor.consensus : One tree from all batches.
    haarbor.Organization : The trees, and what was found with them.
    haarbor.haar_l1 : Sum of the sizes of all coefficients.
    haarbor.plots.organized_matrix_figure : Draws a head in tree order.

    Notes
    -----
    First the trees of all axes but the last are built from the initial affinity. Then each iteration
    builds the tree of the last axis, and those of the others in order, each from the EMD along the
    newest trees of all other axes (:func:`haarbor.tree_emd`), which is turned into an affinity
    (:func:`haarbor.distance_affinity`) and a tree (:func:`haarbor.build_tree`). The loop is
    deterministic: the same input gives the same trees for any number of threads. It ends when the trees
    no longer change. Sometimes they repeat after two or more iterations instead and would cycle for
    ever; ``org.period`` says so.

    Haar trees (:func:`haarbor.haar_tree`) lower

    .. math:: \frac{\|X\|_T}{\|X\|_0} + r \sum_{axes} \delta

    where :math:`\|X\|_T` is the l1 norm of the Haar expansion of the tensor on all trees
    (:func:`haarbor.haar_l1`), :math:`\|X\|_0` that on the first trees, :math:`r` the restraint and
    :math:`\delta` the depth of a tree (``tree.relative_depth``). In each iteration every axis, the one with
    the fewest items first, gets a new tree from the expansion along the trees of the others, and keeps it
    if the objective falls. So it falls at every step and the loop cannot cycle. ``org.convergence(X)``
    shows the fall. The affinities are those of the L1 distances between the expanded slices.

    Masked probabilities are 0 and stay so. Masked logits have no meaningful value: they are set to the
    mean of the valid entries of their row, and the settings of the result say so.

    The published settings are those of this signature with ``refine="published"`` for tensors, and
    ``alpha=1, beta=0, n_iterations=10`` for matrices.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(2), np.ones((2, 2)))[[0, 2, 1, 3]] + 0.1
    >>> org = organize(blocks, axes=("query", "key"))
    >>> org.trees["query"].levels.tolist()
    [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]]
    >>> org.order("query").tolist()  # items 0 and 2 together, and 1 and 3
    [1, 3, 0, 2]
    """
    names = axis_names(axes, n_axes_of(X))
    if len(names) < 2:
        raise ShapeError(
            f"a questionnaire needs at least two axes; found {names}. Pass a matrix or a tensor."
        )
    on_device = is_on_device(X)
    summing = engine_named(engine, on_device=on_device, **_needs(X, n_iterations, tree))
    if isinstance(summing, ClusterEngine):
        # At once, not after the initial affinities.
        summing.l1_sums((), 0, 0)
    alphas, betas = exponent_by_axis("alpha", alpha, names), exponent_by_axis("beta", beta, names)
    settings = QuestionnaireSettings(
        axes=names,
        n_iterations=n_iterations,  # type: ignore[arg-type]  # None is turned into a number
        initial=initial,
        alpha=alphas,
        beta=betas,
        tree=tree,
        tree_constant=tree_constant,
        cut=cut,
        refine=refine,
        restraint=restraint,
        tolerance=tolerance,
        start=start if isinstance(start, str) else "given",  # type: ignore[arg-type]
        engine=summing.name,
        precision="float64",
        masked_entries="unmasked",
        approximate=approximate,
    )
    require_function("on_plan", on_plan)
    # Anything that has a shape and can be read head by head.
    source: Any = X
    if settings.approximate is not None:
        is_held = not on_device and memory is None and not isinstance(source, StreamedTensor | DividedTensor)
        summing = sampled_engine(summing, settings.approximate, is_chosen=engine != "auto", is_held=is_held)
    if isinstance(source, DividedTensor):
        return _organized_from(source, settings, summing, {})
    # The limit is one of the host, where a tensor on a GPU takes nothing.
    plan = None if on_device else _plan(source, names, memory, mask)
    if plan is not None:
        if on_plan is not None:
            on_plan(plan)
        if plan.is_streamed:
            plan.require_offered(settings.tree, settings.initial)
            require_sums_fit(names, source.shape)
            given = _start_trees(start, names, source.shape) if settings.start == "given" else {}
            return _organized_from_disk(source, settings, summing, given, mask, content, plan)
    array: Any
    tensor: Any
    gpu = summing if on_device and isinstance(summing, GpuEngine) else None
    if gpu is not None and mask is not None:
        # Masked entries are made neutral on the host.
        X, gpu = gpu.device.on_host(gpu.device_array(X)), None
    array = real_array(X) if gpu is None else gpu.device_array(X)
    require_sums_fit(names, array.shape)
    given = _start_trees(start, names, array.shape) if settings.start == "given" else {}
    if gpu is None:
        tensor, kind = neutral_tensor(array, names, mask, content)
    else:
        tensor, kind = checked_device_tensor(array, names, gpu.device), "unmasked"
    settings = replace(
        settings,
        precision="float64" if tensor.dtype == np.float64 else "float32",
        masked_entries=_MASKED[kind],
    )
    if tree == "haar" and isinstance(summing, GpuEngine):
        return DeviceDescent(tensor, settings, summing, given).answer()
    if tree == "haar":
        return Descent(tensor, settings, summing, given).answer()
    if settings.start == "order":
        given = {axis: halved_tree(n) for axis, n in zip(names, tensor.shape, strict=True)}
    if isinstance(summing, GpuEngine):
        from haarbor.questionnaire._device_questionnaire import DeviceQuestionnaire

        return DeviceQuestionnaire(tensor, settings, summing, given).answer()
    threads = summing.threads if isinstance(summing, CpuEngine) else None
    held = HeldTensor(tensor, names, settings.initial, threads)
    found = Questionnaire(held, settings, summing, given).answer()
    if isinstance(summing, SampledEngine):
        return replace(found, approximation_error=summing.relative_error)
    return found


def _needs(X: object, n_iterations: object, tree: object) -> dict[str, int]:
    """About how much work a questionnaire of `X` is, and how much memory of a GPU it takes."""
    shape = getattr(X, "shape", ())
    if not isinstance(shape, tuple) or len(shape) < 2 or not all(isinstance(n, int) for n in shape):
        return {}
    # A tree has about half as many folders again as items, and each pair is summed once.
    n_folders = int(np.prod([1.5 * n for n in shape]))
    each = sum(n * n_folders for n in shape) // 3
    n_times = n_iterations if isinstance(n_iterations, int) else 3
    # Not checked yet: it may be anything.
    needed = haar_device_bytes if isinstance(tree, str) and tree == "haar" else device_bytes
    return {"n_differences": n_times * each, "n_bytes": needed(shape, 4, copied=not is_on_device(X))}


def _plan(
    X: Any, names: Sequence[str], memory: int | str | None, mask: npt.ArrayLike | None
) -> MemoryPlan | None:
    """Plan for a limit of memory; None without one."""
    if isinstance(X, StreamedTensor):
        return X.plan
    if memory is None:
        return None
    if not hasattr(X, "shape") or not hasattr(X, "dtype"):
        X = real_array(X)
    if len(names) != 3 or ("head" in names and names[2] != "head"):
        raise SettingError(
            "memory must go with a tensor of three axes, the heads last; found the axes "
            f"{tuple(names)}. Move the axis of the heads to the end, or leave memory out."
        )
    return memory_plan(
        X.shape, memory, itemsize=8 if np.dtype(X.dtype).itemsize > 4 else 4,
        heads_per_block=getattr(X, "heads_per_block", 1),
        in_place=mask is None and mapped_tensor(X) is not None,
    )  # fmt: skip


def _organized_from_disk(
    X: Any,
    settings: QuestionnaireSettings,
    engine: L1Engine,
    given: Mapping[str, PartitionTree],
    mask: npt.ArrayLike | None,
    content: Content,
    plan: MemoryPlan,
) -> Organization:
    source = X if isinstance(X, StreamedTensor) else StreamedTensor(X, settings.axes, mask, content, plan)
    return _organized_from(source, settings, engine, given)


def _organized_from(
    source: StreamedTensor | DividedTensor,
    settings: QuestionnaireSettings,
    engine: L1Engine,
    given: Mapping[str, PartitionTree],
) -> Organization:
    settings = replace(
        settings,
        precision="float32" if source.dtype == np.float32 else "float64",
        masked_entries=_MASKED[source.kind],
    )
    if settings.start == "order":
        given = {axis: halved_tree(n) for axis, n in zip(settings.axes, source.shape, strict=True)}
    return Questionnaire(source, settings, source.engine(engine), given).answer()


def _start_trees(start: object, names: Sequence[str], shape: Sequence[int]) -> Mapping[str, PartitionTree]:
    """The given first trees, after checking that they fit the tensor."""
    if not isinstance(start, Mapping):
        raise SettingError(
            "start must be 'auto', 'order', 'affinity' or a mapping of axis names to trees; found "
            f'{found_text(start)}. Pass a dict such as {{"query": tree}}.'
        )
    trees = trees_by_axis(start, names)
    require_trees_fit(trees, names, shape)
    return trees
