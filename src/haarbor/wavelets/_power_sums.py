"""Sums of powers of Haar coefficients, of which entropies are made."""

from __future__ import annotations

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
    products: LargestProducts,
    coefficients: FloatArray,
    constant: FloatArray,
    rest: tuple[FloatArray, FloatArray],
    *,
    exponents: IntArray,
    p: float,
    n_functions: int,
) -> PowerSums:
    """Sums that the entropies are made of, from the coefficients that count.

    Parameters
    ----------
    products : LargestProducts
    coefficients : ndarray of float64, shape (n, n_columns)
        Those of ``products.above`` and then of ``products.tied``.
    constant : ndarray of float64, shape (n_columns,)
        That of the constant function.
    rest : (ndarray, ndarray), shape (n_columns,) each
        Sums of ``|coefficient|**p`` and of squares over all functions but the constant one.
    exponents : ndarray of int, shape (n_columns,)
        Powers of two by which the coefficients were divided.
    p : float
    n_functions : int
    """
    n_above, n_chosen = products.above.shape[0], products.chosen.shape[0]
    # Overflow is reported when the figures are checked.
    with np.errstate(over="ignore"):
        powers = np.abs(coefficients) ** p
        constant_power = np.abs(constant) ** p
    above = powers[:n_above].sum(axis=0)
    chosen_rest = powers[1:n_chosen].sum(axis=0)
    ordered = np.sort(powers[n_above:], axis=0)
    taken = products.n_from_tied
    return PowerSums(
        chosen=constant_power + chosen_rest,
        chosen_rest=chosen_rest,
        least=above + ordered[:taken].sum(axis=0),
        most=above + ordered[ordered.shape[0] - taken :].sum(axis=0),
        everything=constant_power + rest[0],
        constant=constant,
        chosen_energy=np.square(coefficients[:n_chosen]).sum(axis=0),
        rest_energy=rest[1],
        exponents=exponents,
        p=p,
        k=n_chosen,
        n_functions=n_functions,
    )
