from itertools import product
from math import comb

import numpy as np
import pytest

from haarbor.collapse import composite_norm, path_decomposition, random_attention_stack
from haarbor.errors import SettingError, ShapeError
from haarbor.store import load_results_file, save_results_file

SIZES = {"n_heads": 2, "width": 5, "qk_width": 3}


def made(n_layers=3, skips=True, seed=2):
    stack = random_attention_stack(n_layers=n_layers, skips=skips, seed=seed, **SIZES)
    return stack, np.random.default_rng(0).standard_normal((6, 5))


@pytest.mark.parametrize("skips", [False, True])
def test_all_paths_together_are_the_output(skips):
    stack, x = made(skips=skips)
    found = path_decomposition(stack, x)
    np.testing.assert_allclose(found.output.sum(axis=0), stack.states(x)[0][-1], rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.output.sum(axis=0), stack.states(x)[0][-1], rtol=0, atol=1e-12)
    expected = [comb(3, k) * 2**k for k in range(4)] if skips else [0, 0, 0, 8]
    assert found.n_paths.tolist() == expected
    assert found.n_taken.tolist() == expected


def test_the_paths_one_by_one_are_the_sums_and_means_by_length():
    stack, x = made()
    _, matrices = stack.states(x)
    sums, norms = {}, {}
    for path in product((None, 0, 1), repeat=3):
        mixing, mapping = np.eye(6), np.eye(5)
        for layer, head in enumerate(path):
            if head is not None:
                mixing = matrices[layer][head] @ mixing
                mapping = mapping @ stack.value_output[layer, head]
        part = mixing @ x @ mapping
        length = 3 - path.count(None)
        sums[length] = sums.get(length, 0) + part
        norms.setdefault(length, []).append(composite_norm(part))
    found = path_decomposition(stack, x)
    for length in range(4):
        np.testing.assert_allclose(found.output[length], sums[length], atol=1e-12)
        assert found.norm[length] == pytest.approx(np.mean(norms[length]), rel=1e-12)
        assert found.norm_error[length] == 0
    assert found.share[0] == pytest.approx(np.linalg.norm(x) / np.linalg.norm(stack.states(x)[0][-1]))


def test_long_paths_have_the_smallest_residuals():
    found = path_decomposition(*made(n_layers=4))
    assert np.all(np.diff(found.residual[1:]) < 0)
    assert found.residual[4] < 0.2 * found.residual[0]


def test_samples_agree_with_all_paths_within_their_errors():
    stack, x = made(n_layers=5)
    exact, drawn = path_decomposition(stack, x), path_decomposition(stack, x, n_most=60, seed=1)
    np.testing.assert_array_equal(drawn.output, exact.output)
    large = exact.n_paths > 60
    assert large.sum() >= 2
    assert np.all(drawn.norm_error[large] > 0)
    assert np.all(np.abs(drawn.norm - exact.norm)[large] <= 4 * drawn.norm_error[large])
    assert np.all(np.abs(drawn.residual - exact.residual)[large] <= 4 * drawn.residual_error[large])


def test_a_large_stack_is_sampled():
    found = path_decomposition(*made(n_layers=40), n_most=5)
    assert found.n_paths.sum() == pytest.approx(3.0**40)
    assert found.n_taken.max() == 5


def test_it_is_kept_whole_in_a_file(tmp_path):
    found = path_decomposition(*made())
    again = load_results_file(save_results_file(found, tmp_path / "paths.npz"))
    np.testing.assert_array_equal(again.output, found.output)
    np.testing.assert_array_equal(again.n_taken, found.n_taken)


def test_wrong_arguments_are_refused():
    stack, x = made()
    with pytest.raises(SettingError, match="stack must be an AttentionStack"):
        path_decomposition(None, x)
    with pytest.raises(SettingError, match="n_most must be a whole number from 2"):
        path_decomposition(stack, x, n_most=1)
    with pytest.raises(ShapeError, match="n_tokens, 5"):
        path_decomposition(stack, x[:, :2])
