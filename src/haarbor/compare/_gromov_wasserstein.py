"""Heads of two networks matched by their distances within each network, where tokens differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.compare._head_matching import checked_distances, head_matching
from haarbor.errors import SettingError, ShapeError
from haarbor.options import require_seed, require_whole_number
from haarbor.stored_result import stored_result

__all__ = ["GromovWasserstein", "gromov_wasserstein", "require_transport"]

_N_STARTS = 3
_N_QUANTILES = 64


@stored_result("GromovWasserstein")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GromovWasserstein:
    """Two geometries of heads laid upon each other as well as could be found."""

    distance: float
    """Root of the mean squared difference of distances, each network's distances over their mean; 0 for
    geometries that are the same."""
    coupling: FloatArray
    """Weight of each pair of heads, shape (n, m); sums to 1."""
    pairs: IntArray
    """The pairs of most weight in all, each head at most once, shape (min(n, m), 2)."""
    chance: float
    """Mean distance after the second network's distances were put in random order; NaN if not asked for."""
    p_value: float
    """Share of such orders, the true one included, with as low a distance; NaN if not asked for."""

    def __repr__(self) -> str:
        return f"GromovWasserstein({self.distance:.3f}, by chance {self.chance:.3f}, p = {self.p_value:.3g})"


def require_transport() -> Any:
    """The module of POT (Python Optimal Transport).

    Raises
    ------
    SettingError
        If it is not installed.
    """
    try:
        import ot
    except ImportError:
        raise SettingError(
            "networks on different tokens are matched with the POT package, which is not installed. Run pip "
            "install 'haarbor[compare]', or compare runs of the same tokens."
        ) from None
    return ot


def gromov_wasserstein(
    first: npt.ArrayLike, second: npt.ArrayLike, *, n_permutations: int = 0, seed: int = 0
) -> GromovWasserstein:
    r"""Lay the heads of two networks upon each other so that distances within each network agree.

    Nothing but the distances within each network is used, so the networks may have seen different tokens.

    Parameters
    ----------
    first, second : array_like of float, shapes (n, n) and (m, m)
        Distances between the heads of each network, symmetric.
    n_permutations : int, default 0
        How often it is repeated with the distances of the second network in random order.
    seed : int, default 0

    Returns
    -------
    GromovWasserstein

    Raises
    ------
    SettingError
        If POT is not installed.
    ShapeError, DataError
        If the distances are not square and finite.

    See Also
    --------
    haarbor.compare.head_matching : Pairs of least distance.

    Notes
    -----
    With :math:`\pi` a coupling of the heads, each network's weights uniform,

    .. math:: \min_\pi \Bigl(\sum_{i,j,k,l} (d_{ij} - d'_{kl})^2 \, \pi_{ik} \pi_{jl}\Bigr)^{1/2}.

    The problem has many local minima. The best of four starts is taken: a coupling of heads whose distances
    to all other heads are distributed alike, which finds a copy with its heads in another order, the
    coupling of all with all, and random ones. So the distance is an upper bound of the least one. Geometry
    alone says less than attention on the same tokens: heads that lie alike may do different things.
    """
    one, two = (_relative(distances) for distances in (first, second))
    n_random = require_whole_number("n_permutations", n_permutations)
    rng = np.random.default_rng(require_seed(seed))
    transport = require_transport()
    distance, coupling = _best(transport, one, two, rng)
    drawn = np.array([_best(transport, one, _mixed(two, rng), rng, n_starts=0)[0] for _ in range(n_random)])
    as_low = int((drawn <= distance + 1e-12).sum())
    return GromovWasserstein(
        distance=distance,
        coupling=frozen(coupling),
        pairs=head_matching(coupling.max() - coupling),
        chance=float(drawn.mean()) if n_random else float("nan"),
        p_value=(1 + as_low) / (1 + n_random) if n_random else float("nan"),
    )


def _relative(distances: npt.ArrayLike) -> FloatArray:
    array = checked_distances(distances)
    if array.shape[0] != array.shape[1]:
        raise ShapeError(
            f"distances within a network must be square; found shape {array.shape}. Pass heads x heads."
        )
    mean = array.mean()
    return array / mean if mean > 0 else array


def _best(
    transport: Any, one: FloatArray, two: FloatArray, rng: np.random.Generator, n_starts: int = _N_STARTS - 1
) -> tuple[float, FloatArray]:
    p, q = np.full(one.shape[0], 1 / one.shape[0]), np.full(two.shape[0], 1 / two.shape[0])
    starts = [_alike_distributions(transport, one, two, p, q), np.outer(p, q)]
    for _ in range(n_starts):
        starts.append(transport.emd(p, q, rng.random((p.size, q.size))))
    found = [
        transport.gromov.gromov_wasserstein(one, two, p, q, "square_loss", G0=start, max_iter=200)
        for start in starts
    ]
    values = [_loss(one, two, coupling) for coupling in found]
    least = int(np.argmin(values))
    return values[least], np.asarray(found[least])


def _alike_distributions(
    transport: Any, one: FloatArray, two: FloatArray, p: FloatArray, q: FloatArray
) -> FloatArray:
    """Coupling of heads by the quantiles of their distances to all heads."""
    places = np.linspace(0, 1, _N_QUANTILES)
    a, b = (np.quantile(distances, places, axis=1).T for distances in (one, two))
    costs = ((a[:, None, :] - b[None, :, :]) ** 2).mean(axis=2)
    coupling: FloatArray = transport.emd(p, q, costs)
    return coupling


def _loss(one: FloatArray, two: FloatArray, coupling: FloatArray) -> float:
    """Root of the mean squared difference of distances under a coupling."""
    p, q = coupling.sum(axis=1), coupling.sum(axis=0)
    squares = p @ one**2 @ p + q @ two**2 @ q - 2 * float((one @ coupling @ two * coupling).sum())
    return float(np.sqrt(max(0.0, squares)))


def _mixed(distances: FloatArray, rng: np.random.Generator) -> FloatArray:
    upper = np.triu_indices(distances.shape[0], 1)
    mixed = np.zeros_like(distances)
    mixed[upper] = rng.permutation(distances[upper])
    return mixed + mixed.T
