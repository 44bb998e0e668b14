import numpy as np
import pytest

from haarbor.collapse import AttentionStack, collapse_rate, random_attention_stack, token_residual
from haarbor.errors import DataError, SettingError, ShapeError
from tests.assertions import assert_close
from tests.reference.collapse import frobenius_log_residuals, stack_states

SIZES = {"n_heads": 2, "width": 4, "qk_width": 3}


@pytest.mark.parametrize("skips", [False, True])
def test_the_states_agree_with_many_digits(rng, skips):
    stack = random_attention_stack(n_layers=3, skips=skips, seed=4, **SIZES)
    x = rng.standard_normal((5, 4))
    slow = stack_states(stack.query, stack.key, stack.value_output, x, skips=skips, digits=40)
    states, matrices = stack.states(x)
    for state, exact in zip(states, slow, strict=True):
        assert_close(state, np.array(exact.tolist(), dtype=float))
    for weights in matrices:
        assert_close(weights.sum(axis=-1), np.ones((2, 5)))


@pytest.mark.parametrize("seed", [0, 1])
def test_pure_attention_collapses_doubly_exponentially(rng, seed):
    stack = random_attention_stack(n_layers=6, seed=seed, **SIZES)
    x = rng.standard_normal((5, 4))
    # Numbers of 16 digits see three layers of this; 450 digits see six.
    slow = stack_states(stack.query, stack.key, stack.value_output, x, skips=False, digits=450)
    logs = -np.array(frobenius_log_residuals(slow, 450))
    assert logs[-1] > 300
    # The rate of the theorem: every layer multiplies the number of digits by three.
    np.testing.assert_allclose(logs[-2:] / logs[-3:-1], 3.0, rtol=0.05)
    rate = collapse_rate(np.exp(-logs[2:]))
    assert 3.0 < rate.factor < 3.6
    assert rate.doubly > 0.99 > rate.singly


def test_the_rate_is_seen_in_ordinary_numbers_too():
    x = np.random.default_rng(3).standard_normal((12, 16))
    stack = random_attention_stack(n_layers=4, n_heads=4, width=16, qk_width=8, scale=0.8, seed=1)
    states, _ = stack.states(x)
    rate = collapse_rate([token_residual(state).relative for state in states], floor=1e-13)
    assert rate.factor > 2
    assert rate.doubly > rate.singly


def test_skips_prevent_the_collapse():
    x = np.random.default_rng(3).standard_normal((12, 16))
    found = {}
    for skips in (False, True):
        stack = random_attention_stack(n_layers=8, n_heads=4, width=16, qk_width=8, skips=skips, seed=1)
        found[skips] = [token_residual(state).relative for state in stack.states(x)[0]]
    assert found[False][-1] < 1e-14
    assert found[True][-1] > 0.03
    assert min(found[True]) > 1e10 * found[False][-1]


def test_weights_and_tokens_that_do_not_fit_are_refused():
    stack = random_attention_stack(n_layers=1, **SIZES)
    with pytest.raises(ShapeError, match=r"shape \(n_tokens, 4\); found \(5, 3\)"):
        stack.states(np.ones((5, 3)))
    parts = {"query": stack.query, "key": stack.key, "value_output": stack.value_output, "skips": False}
    with pytest.raises(ShapeError, match="one shape"):
        AttentionStack(**{**parts, "key": stack.key[:, :1]})
    with pytest.raises(ShapeError, match="value_output must have shape"):
        AttentionStack(**{**parts, "value_output": stack.value_output[..., :2]})
    with pytest.raises(DataError, match="finite"):
        AttentionStack(**{**parts, "query": stack.query * np.nan})
    with pytest.raises(SettingError, match="skips must be True or False"):
        AttentionStack(**{**parts, "skips": "no"})
    with pytest.raises(SettingError, match="n_layers must be a whole number from 1"):
        random_attention_stack(n_layers=0, **SIZES)
