"""Sums of powers of Haar coefficients, of which entropies are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import DataError
from haarbor.wavelets._product_order import LargestProducts

__all__ = ["PowerSums", "power_sums_of"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PowerSums:
    """Sums that both entropies are made of, with one entry per head."""

    chosen: FloatArray
    chosen_rest: FloatArray
    """`chosen` without the constant function, which is always the first one chosen."""
    least: FloatArray
    most: FloatArray
    everything: FloatArray
    constant: FloatArray
    chosen_energy: FloatArray
    rest_energy: FloatArray
    """Energy of all functions but the constant one."""
    exponents: IntArray
    """Powers of two by which the coefficients were divided."""
    p: float
    k: int
    n_functions: int

    def fields(self) -> dict[str, FloatArray]:
        """Fields of the results.

        Raises
        ------
        DataError
            If one of the figures leaves the range of float64.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            found, norms = self._scaled_fields()
            if self.exponents.any():
                for name in ("constant", "norm"):
                    found[name] = np.ldexp(found[name], self.exponents)
                powers = 2.0 ** (self.p * self.exponents)
                for name in ("raw", "all_scales"):
                    found[name] = found[name] * powers
                found["tie_interval"] = found["tie_interval"] * powers[:, None]
            vanished = any(((norm > 0) & (norm**self.p == 0)).any() for norm in norms)
        if vanished or not all(np.isfinite(values).all() for values in found.values()):
            raise DataError(
                f"sums of |coefficient|**p must lie within the range of float64; with p={self.p:g} they are "
                "too large or too small for it. Choose p nearer to 1, or multiply the tensor by a constant."
            )
        return found

    def _scaled_fields(self) -> tuple[dict[str, FloatArray], tuple[FloatArray, ...]]:
        """The figures of the scaled coefficients, and the norms by whose powers they were divided."""
        energy = self.rest_energy + self.constant**2
        norm = np.sqrt(energy)
        # The differences that rounding leaves in a constant head are not structure.
        noise = 16 * np.finfo(np.float64).eps ** 2 * self.n_functions
        rest = np.sqrt(np.where(self.rest_energy > noise * energy, self.rest_energy, 0.0))
        found = {
            "raw": self.chosen,
            "normalised": _ratio(self.chosen, norm**self.p),
            "mean_removed": _ratio(self.chosen_rest, rest**self.p),
            "tie_interval": np.stack([self.least, self.most], axis=-1),
            "constant": self.constant,
            "energy_share": _ratio(self.chosen_energy, energy),
            "all_scales": self.everything,
            "fine_share": _ratio(np.maximum(self.everything - self.chosen, 0.0), self.everything),
            "norm": norm,
        }
        return found, (norm, rest)


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def power_sums_of(
    values: Callable[[IntArray], FloatArray],
    rest: tuple[FloatArray, FloatArray],
    products: LargestProducts,
    power: float,
    exponents: IntArray,
    n_functions: int,
) -> PowerSums:
    """Sums over the expansions of some heads.

    Parameters
    ----------
    values : function of an array of products, shape (m, n_axes)
        Their coefficients in float64, shape (m, n_heads).
    rest : (sums, energies)
        Sums of powers and of squares over all functions but the constant, shape (n_heads,) each.
    products : LargestProducts
    power : float
    exponents : ndarray of int, shape (n_heads,)
        Powers of two by which the coefficients were divided.
    n_functions : int
    """
    chosen = values(products.chosen)
    constant = chosen[0]
    # Overflow is reported when the figures are checked.
    with np.errstate(over="ignore"):
        above = (np.abs(values(products.above)) ** power).sum(axis=0)
        tied = np.abs(values(products.tied)) ** power
        chosen_rest = (np.abs(chosen[1:]) ** power).sum(axis=0)
        constant_power = np.abs(constant) ** power
    taken = products.n_from_tied
    ordered = np.sort(tied, axis=0)
    return PowerSums(
        chosen=constant_power + chosen_rest,
        chosen_rest=chosen_rest,
        least=above + ordered[:taken].sum(axis=0),
        most=above + ordered[tied.shape[0] - taken :].sum(axis=0),
        everything=constant_power + rest[0],
        constant=constant,
        chosen_energy=np.square(chosen).sum(axis=0),
        rest_energy=rest[1],
        exponents=exponents,
        p=power,
        k=products.chosen.shape[0],
        n_functions=n_functions,
    )
