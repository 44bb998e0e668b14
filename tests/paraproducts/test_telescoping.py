import numpy as np
import pytest

from haarbor.paraproducts import telescoping
from tests.samples import CHAINED, HALVES


@pytest.mark.parametrize("masked", [False, True])
def test_the_terms_add_up_to_the_nonlinearity(rng, masked):
    f = rng.normal(size=(5, 4))
    mask = rng.random((5, 4)) < 0.7 if masked else np.ones((5, 4), dtype=bool)
    exact = telescoping(f, CHAINED, HALVES, "exp", mask if masked else None)
    np.testing.assert_allclose(exact.total, np.where(mask, np.exp(f), 0.0), atol=1e-13)
    assert list(exact.terms) == ["mean", "boundary row", "boundary column", "differences"]
    assert exact.scale_energy.shape == (5, 2)


def test_energies_are_those_of_the_differences():
    # On two pairs there is one pair of scales, and its difference is the whole sum.
    exact = telescoping([[0.0, 2.0], [2.0, 8.0]], *[HALVES.from_levels([[0, 0], [0, 1]])] * 2, "square")
    assert exact.terms["differences"].tolist() == [[7, -13], [-13, 23]]
    assert exact.scale_energy.tolist() == [[7**2 + 2 * 13**2 + 23**2]]


def test_the_result_is_read_only_and_its_repr_one_line():
    exact = telescoping(np.zeros((4, 4)), HALVES, HALVES)
    assert repr(exact) == "Telescoping(exp, 4 terms)"
    assert not any(term.flags.writeable for term in (*exact.terms.values(), exact.scale_energy))
