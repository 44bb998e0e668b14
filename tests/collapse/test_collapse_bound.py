import numpy as np
import pytest

from haarbor.collapse import (
    AttentionStack,
    collapse_bound,
    composite_norm,
    random_attention_stack,
    stack_bound,
    token_residual,
)
from haarbor.errors import SettingError

SIZES = {"n_layers": 5, "n_heads": 2, "width": 4, "qk_width": 3}


def test_it_is_what_the_steps_give_one_by_one():
    given = {"n_heads": 3, "beta": 0.7, "gamma": 1.5, "qk_width": 5}
    found = collapse_bound(0.2, n_layers=4, **given)
    residual = 0.2
    for layer in range(5):
        assert found[layer] == pytest.approx(np.log10(residual), rel=1e-12)
        residual = 4 * 1.5 * 0.7 * 3 / np.sqrt(5) * residual**3


@pytest.mark.parametrize("seed", range(4))
def test_no_random_stack_exceeds_it(seed):
    rng = np.random.default_rng(seed)
    stack = random_attention_stack(seed=seed, scale=0.5, **SIZES)
    x = 0.02 * rng.standard_normal((5, 4)) + rng.standard_normal(4)
    residual = token_residual(x).relative * composite_norm(x)
    bound = stack_bound(stack, residual, 5)
    assert bound.holds
    assert bound.falls
    states, _ = stack.states(x)
    for state, log10 in zip(states[:2], bound.log10, strict=False):
        assert np.log10(token_residual(state).least * composite_norm(state)) <= log10 + 1e-12


def exact_step(stack, left, common):
    """Residual after a layer against the vector that the proof names, without cancellation."""
    total = np.zeros_like(left)
    following = np.zeros_like(common)
    for head in range(stack.n_heads):
        mixing = stack.query[0, head] @ stack.key[0, head].T / np.sqrt(stack.query.shape[3])
        base = left @ mixing.T @ common
        q = np.exp(base - base.max())
        q /= q.sum()
        grown = np.expm1(left @ mixing @ left.T)
        mean = grown @ q
        total += (q * (grown - mean[:, None]) / (1 + mean[:, None])) @ left @ stack.value_output[0, head]
        following += (common + q @ left) @ stack.value_output[0, head]
    return total, following


@pytest.mark.parametrize("seed", range(4))
def test_every_layer_obeys_it_far_below_the_digits_of_the_tokens(seed):
    rng = np.random.default_rng(seed)
    stack = random_attention_stack(seed=seed, scale=0.5, **SIZES)
    common = rng.standard_normal(4)
    x = 0.02 * rng.standard_normal((5, 4)) + common
    bound = stack_bound(stack, composite_norm(x - common), 5)
    left = x - common
    for layer in range(4):
        assert np.log10(composite_norm(left)) <= bound.log10[layer]
        one = AttentionStack(
            query=stack.query[layer : layer + 1],
            key=stack.key[layer : layer + 1],
            value_output=stack.value_output[layer : layer + 1],
            skips=False,
        )
        left, common = exact_step(one, left, common)
    assert bound.log10[4] < -20
    assert 0 < composite_norm(left) < 1e-30


def test_large_scores_are_outside_of_the_theorem(rng):
    stack = random_attention_stack(seed=0, scale=5.0, **SIZES)
    bound = stack_bound(stack, 3.0, 5)
    assert not bound.holds
    assert not bound.falls
    assert np.isfinite(bound.log10).all()


def test_the_published_constant_would_not_do_for_heads_of_different_shape():
    # One head writes a single column, the other a single row: their sum is larger than both together.
    column, row = np.zeros((4, 4)), np.zeros((4, 4))
    column[:, 0], row[0] = 1, 1
    query = np.full((1, 2, 4, 1), 0.01)
    stack = AttentionStack(query=query, key=query, value_output=np.stack([column, row])[None], skips=False)
    scores = 4 * 0.01**2
    published = collapse_bound(
        0.1, n_layers=1, n_heads=2, beta=scores * composite_norm(row), gamma=np.sqrt(3), qk_width=1
    )
    assert stack_bound(stack, 0.1, 3).log10[1] == pytest.approx(published[1] + np.log10(2), rel=1e-12)


def test_skips_and_impossible_numbers_are_refused():
    with pytest.raises(SettingError, match="without skip connections; the stack has them"):
        stack_bound(random_attention_stack(skips=True, **SIZES), 0.1, 5)
    with pytest.raises(SettingError, match="residual must be positive"):
        collapse_bound(0.0, n_layers=1, n_heads=1, beta=1.0, gamma=1.0, qk_width=1)
    with pytest.raises(SettingError, match=r"n_layers must be a whole number in 1\.\.600"):
        collapse_bound(0.1, n_layers=601, n_heads=1, beta=1.0, gamma=1.0, qk_width=1)
