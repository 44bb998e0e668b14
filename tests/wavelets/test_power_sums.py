import numpy as np
import pytest

import haarbor as hb
from haarbor.wavelets import haar_system, largest_products
from haarbor.wavelets._power_sums import power_sums_of

PAIR = hb.PartitionTree([[0, 0], [0, 1]])
# Two functions of equal support; three heads.
COEFFICIENTS = np.array([[3.0, 0.0, -1.0], [4.0, 0.0, 2.0]])


def sums(k, p=1.0, exponents=(0, 0, 0)):
    products = largest_products([haar_system(PAIR)], k)
    sizes = np.abs(COEFFICIENTS[1:])
    rest = ((sizes**p).sum(axis=0), (sizes**2).sum(axis=0))
    listed = np.concatenate([products.above, products.tied])[:, 0]
    return power_sums_of(
        products,
        COEFFICIENTS[listed],
        COEFFICIENTS[0],
        rest,
        exponents=np.array(exponents),
        p=p,
        n_functions=2,
    )


def test_figures_of_two_functions_by_hand():
    found = sums(2).fields()
    assert found["raw"].tolist() == [7, 0, 3]
    assert found["norm"].tolist() == pytest.approx([5, 0, 5**0.5])
    assert found["normalised"].tolist() == pytest.approx([1.4, 0, 3 / 5**0.5])
    assert found["mean_removed"].tolist() == [1, 0, 1]
    assert found["energy_share"].tolist() == [1, 0, 1]
    assert found["fine_share"].tolist() == [0, 0, 0]


def test_functions_tied_at_the_cut_give_an_interval():
    found = sums(1).fields()
    assert found["raw"].tolist() == [3, 0, 1]
    assert found["tie_interval"].tolist() == [[3, 4], [0, 0], [1, 2]]
    assert found["fine_share"].tolist() == pytest.approx([4 / 7, 0, 2 / 3])


def test_scaled_heads_are_multiplied_back():
    plain, scaled = sums(2, 2.0).fields(), sums(2, 2.0, (0, 3, -4)).fields()
    assert (scaled["raw"] == plain["raw"] * [1, 64, 2.0**-8]).all()
    assert (scaled["norm"] == plain["norm"] * [1, 8, 2.0**-4]).all()
    assert (scaled["normalised"] == plain["normalised"]).all()


def test_sums_beyond_the_range_are_refused():
    with pytest.raises(hb.DataError, match="must lie within the range of float64; with p=3"):
        sums(2, 3.0, (500, 500, 500)).fields()
