import numpy as np
import pytest
from hypothesis import given

from haarbor.collapse import composite_norm, token_residual
from haarbor.errors import SettingError
from tests.collapse.token_matrices import TOKENS
from tests.reference.collapse import composite, least_composite_residual


@pytest.mark.parametrize("shape", [(2, 3), (4, 2), (5, 3)])
@pytest.mark.parametrize("heavy", [False, True])
def test_the_minimum_lies_between_the_bound_and_what_is_found(rng, shape, heavy):
    x = rng.standard_normal(shape) ** (3 if heavy else 1)
    least = least_composite_residual(x)
    found = token_residual(x)
    whole = composite(x.tolist())
    assert found.least * whole <= least * (1 + 1e-9)
    assert least * (1 - 1e-6) <= found.relative * whole <= 2 * least


@given(TOKENS)
def test_what_is_found_is_the_residual_against_the_vector_it_names(x):
    for norm, size in (("composite", composite_norm), ("frobenius", np.linalg.norm)):
        found = token_residual(x, norm=norm)
        assert size(x - found.common) == pytest.approx(found.relative * size(x), rel=1e-9, abs=1e-12)
        assert 0 <= found.least <= found.relative


@given(TOKENS)
def test_it_is_at_most_twice_its_bound_if_the_widest_pair_is_known(x):
    found = token_residual(x)
    widest = max(np.abs(one - two).sum() for one in x for two in x)
    columns = np.abs(x - np.median(x, axis=0)).sum(axis=0).max()
    assert found.relative * composite_norm(x) <= 2 * np.sqrt(columns * widest / 2) * (1 + 1e-12)


@given(TOKENS)
def test_neither_norm_is_beaten_by_the_mean_nor_by_any_token(x):
    for norm, size in (("composite", composite_norm), ("frobenius", np.linalg.norm)):
        relative = token_residual(x, norm=norm).relative
        assert relative <= size(x - x.mean(axis=0)) / size(x) + 1e-12
        if norm == "frobenius":
            assert all(relative <= size(x - token) / size(x) + 1e-12 for token in x)


@pytest.mark.parametrize("norm", ["composite", "frobenius"])
def test_equal_tokens_have_no_residual(norm):
    found = token_residual(np.tile([1.0, -2.0, 0.25], (4, 1)), norm=norm)
    assert found.relative == 0
    assert found.common.tolist() == [1.0, -2.0, 0.25]


def test_the_vector_in_common_is_of_the_size_of_the_tokens():
    assert token_residual([[1000.0, 4.0], [3000.0, 8.0]], norm="frobenius").common.tolist() == [2000.0, 6.0]


def test_it_beats_the_mean_where_one_token_is_far_away():
    x = np.zeros((9, 2))
    x[0] = 10
    mean = composite_norm(x - x.mean(axis=0)) / composite_norm(x)
    assert token_residual(x).relative < 0.95 * mean


def test_another_norm_is_refused():
    with pytest.raises(SettingError, match="norm must be one of 'composite', 'frobenius'; found 'l2'"):
        token_residual(np.eye(2), norm="l2")
