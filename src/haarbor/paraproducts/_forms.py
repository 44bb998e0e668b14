"""The named forms of a paraproduct, assembled from their pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from haarbor.array_types import BoolArray, FloatArray, frozen, real_array
from haarbor.binary_scale import excess_exponent, scaled
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.named_axes import boolean_array, checked_tensor, position_text
from haarbor.options import require_choice
from haarbor.paraproducts._folder_axis import FolderAxis
from haarbor.paraproducts._masked_softmax_pieces import MaskedSoftmaxPieces
from haarbor.paraproducts._nonlinearities import NonlinearityChoice, pointwise_nonlinearity
from haarbor.paraproducts._pointwise_pieces import PointwisePieces
from haarbor.paraproducts._regularity import RegularityGain, regularity_gain
from haarbor.paraproducts._scale_pieces import ScalePieces, subsets
from haarbor.paraproducts._softmax_pieces import SoftmaxPieces
from haarbor.trees import PartitionTree, require_trees_fit

__all__ = [
    "FORMS",
    "Form",
    "Paraproduct",
    "Question",
    "paraproducts",
    "require_finite_terms",
    "sum_of_terms",
]

Form = Literal["paper", "paper+boundary", "corrected", "corrected+marginals"]
FORMS: tuple[Form, ...] = get_args(Form)
_LARGEST = 2.0**300
_ROUNDING = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Paraproduct:
    """A nonlinearity of a function on trees, split into an approximation and a residual.

    See Also
    --------
    haarbor.paraproduct : A nonlinearity, split.
    """

    approximation: FloatArray
    """Same shape and order as the function; 0 at masked entries."""
    residual: FloatArray
    """The nonlinearity of the function minus the approximation; 0 at masked entries."""
    terms: Mapping[str, FloatArray]
    """Terms whose sum is the approximation, with their signs: "mean", "linear row", "boundary column", ..."""
    scale_energy: FloatArray
    """Energy of the mixed term of each pair of scales, shape (steps of the row tree, of the column tree)."""
    relative_error: float
    """Norm of the residual divided by that of the nonlinearity of the function; 0 if both are zero, infinite
    if only the latter is."""
    centred_error: float
    """Norm of the residual divided by that of the nonlinearity minus its mean over valid entries.

    Where that is no more than rounding, because the nonlinearity is the same everywhere, this is 0 if the
    residual is no more than rounding either, and infinite otherwise. Rounding is 64 times the precision of
    float64, relative to the norm of the nonlinearity.
    """
    function: FloatArray
    """The function that was decomposed; 0 at masked entries."""
    mask: BoolArray
    """True where an entry is valid."""
    trees: tuple[PartitionTree, ...]
    axes: tuple[str, ...]
    nonlinearity: str
    form: Form

    @property
    def value(self) -> FloatArray:
        """The nonlinearity of the function."""
        return self.approximation + self.residual

    def regularity(self) -> RegularityGain:
        """How fast the Haar coefficients of the residual decay, compared with those of the function.

        Offered for two axes without a mask; see :func:`haarbor.paraproducts.regularity_gain`.
        """
        if len(self.axes) != 2 or not self.mask.all():
            raise SettingError(
                "the decay of Haar coefficients can be measured on two axes without a mask; found "
                f"{len(self.axes)} axes{'' if self.mask.all() else ' and a mask'}."
                " Ask for it on a whole matrix."
            )
        magnitude = float(np.abs(self.value).max())
        row_tree, column_tree = self.trees
        return regularity_gain(self.function, self.residual, row_tree, column_tree, magnitude)

    def __repr__(self) -> str:
        sizes = " x ".join(map(str, self.approximation.shape))
        error = f"relative error {self.relative_error:.3g}"
        return f"Paraproduct({sizes}, {self.nonlinearity}, {self.form}, {error})"


class Question:
    """A function to decompose, its trees, nonlinearity and mask, all checked."""

    def __init__(
        self,
        f: npt.ArrayLike,
        trees: tuple[PartitionTree, ...],
        axes: tuple[str, ...],
        nonlinearity: NonlinearityChoice,
        mask: npt.ArrayLike | None,
    ) -> None:
        array = real_array(f, "the function")
        require_trees_fit(dict(zip(axes, trees, strict=True)), axes, array.shape)
        self.valid = None if mask is None else _checked_mask(mask, array.shape)
        self.f = checked_tensor(array, axes, valid=self.valid).astype(np.float64)
        if self.valid is not None:
            self.f = np.where(self.valid, self.f, 0.0)
        _require_moderate(self.f, axes)
        self.trees, self.axes = trees, axes
        self.choice = nonlinearity
        self.name = nonlinearity if isinstance(nonlinearity, str) else "given"

    def pieces(self) -> ScalePieces:
        """Pieces from which every form can be assembled."""
        folder_axes = tuple(FolderAxis(tree) for tree in self.trees)
        # Without masked entries the faster formulas for whole matrices hold.
        valid = None if self.valid is None or self.valid.all() else self.valid
        if isinstance(self.choice, str) and self.choice == "softmax":
            pair = (folder_axes[0], folder_axes[1])
            return SoftmaxPieces(self.f, pair) if valid is None else MaskedSoftmaxPieces(self.f, pair, valid)
        return PointwisePieces(self.f, folder_axes, pointwise_nonlinearity(self.choice, self.f.ndim), valid)


def paraproducts(question: Question, forms: Sequence[Form]) -> dict[Form, Paraproduct]:
    """Some forms of a decomposition; what they have in common is computed once.

    Raises
    ------
    SettingError
        If a form is not offered.
    DataError
        If the nonlinearity is not finite at a valid entry.
    """
    for form in forms:
        require_choice("form", form, FORMS)
    # Infinities and NaN are looked for afterwards and reported, so numpy need not warn about them.
    with np.errstate(all="ignore"):
        return _paraproducts(question, forms)


def _paraproducts(question: Question, forms: Sequence[Form]) -> dict[Form, Paraproduct]:
    pieces = question.pieces()
    value = pieces.value()
    if not np.isfinite(value).all():
        place = tuple(np.argwhere(~np.isfinite(value))[0])
        raise DataError(
            f"the nonlinearity {question.name!r} must be finite on the function; at "
            f"({position_text(place, question.axes)}), where the function is {question.f[place]:.6g}, it is "
            f"{value[place]}. Scale or shift the function first."
        )
    mask = np.ones(value.shape, dtype=bool) if question.valid is None else question.valid
    # Scaled, so that the squares in the norms neither vanish nor overflow.
    exponent = excess_exponent(value)
    ordinary = scaled(value, exponent)
    norm = float(np.linalg.norm(ordinary))
    centred = float(np.linalg.norm((ordinary - ordinary[mask].mean())[mask]))
    found: dict[Form, Paraproduct] = {}
    for form in forms:
        terms = _terms(pieces, form, question.axes)
        approximation = sum_of_terms(terms)
        residual = value - approximation
        energy = pieces.linear_energy()
        require_finite_terms({**terms, "scale energies": energy, "residual": residual}, question.name)
        error = float(np.linalg.norm(scaled(residual, exponent)))
        found[form] = Paraproduct(
            approximation=frozen(approximation),
            residual=frozen(residual),
            terms={name: frozen(np.array(term)) for name, term in terms.items()},
            scale_energy=frozen(energy.copy()),
            relative_error=_ratio(error, norm),
            centred_error=_ratio(error, centred, rounding=_ROUNDING * norm),
            function=frozen(question.f.copy()),
            mask=frozen(mask.copy()),
            trees=question.trees,
            axes=question.axes,
            nonlinearity=question.name,
            form=form,
        )
    return found


def require_finite_terms(terms: Mapping[str, FloatArray], nonlinearity: str) -> None:
    """Raise if a term is infinite or NaN, because the nonlinearity or a derivative was so at some mean."""
    for name, term in terms.items():
        if not np.isfinite(term).all():
            raise DataError(
                f"every term of a paraproduct must be finite; {name!r} is not, because {nonlinearity!r} or a "
                "derivative of it is not finite on the means of the function, or overflows when squared. "
                "Scale or shift the function first."
            )


def sum_of_terms(terms: Mapping[str, FloatArray]) -> FloatArray:
    """Sum of arrays of one shape."""
    total: FloatArray = np.zeros(next(iter(terms.values())).shape)
    for term in terms.values():
        total += term
    return total


def _terms(pieces: ScalePieces, form: Form, axes: tuple[str, ...]) -> dict[str, FloatArray]:
    """Terms of a form, signs included."""
    everything = tuple(range(pieces.n_axes))

    def named(kind: str, chosen: tuple[int, ...]) -> str:
        return f"{kind} {' x '.join(axes[place] for place in chosen)}"

    terms: dict[str, FloatArray] = {}
    if form != "paper":
        terms["mean"] = pieces.mean()
    if form in ("paper", "paper+boundary"):
        if form == "paper+boundary":
            for chosen in subsets(everything, proper=True):
                terms[named("boundary", chosen)] = pieces.boundary(chosen)
        terms[named("linear", everything)] = pieces.linear(everything)
        return terms
    for chosen in subsets(everything):
        sign = -1.0 if len(chosen) % 2 == 0 else 1.0
        terms[named("linear", chosen)] = sign * pieces.linear(chosen)
    if form == "corrected+marginals":
        for chosen in subsets(everything, proper=True):
            terms[named("marginal", chosen)] = pieces.marginal(chosen)
    return terms


def _ratio(error: float, norm: float, *, rounding: float = 0.0) -> float:
    if norm > rounding:
        return error / norm
    return 0.0 if error <= rounding else float("inf")


def _require_moderate(f: FloatArray, axes: Sequence[str]) -> None:
    """Raise if cubes of the function, which derivatives are made of, would overflow."""
    largest = np.unravel_index(int(np.argmax(np.abs(f))), f.shape)
    if np.abs(f[largest]) > _LARGEST:
        raise DataError(
            f"a function must be below {_LARGEST:.0e} in size; it is {f[largest]:.3g} at "
            f"({position_text(largest, axes)}). Entries that are masked in the network have no value: pass "
            "mask=; or divide the function by a constant."
        )


def _checked_mask(mask: npt.ArrayLike, shape: tuple[int, ...]) -> BoolArray:
    array = boolean_array(mask)
    if array.shape != shape:
        raise ShapeError(
            f"mask must have the shape of the function, {shape}; found {array.shape}. "
            "Pass one entry for each."
        )
    if not array.any():
        raise DataError(
            "mask must leave at least one valid entry; every entry is masked. If your mask is True where an "
            "entry is hidden, pass ~mask."
        )
    return array
