import numpy as np
import pytest

from haarbor.collapse import NetworkPaths, path_decomposition, random_attention_stack
from haarbor.plots import path_figure


def test_a_real_network_has_bars_by_where_paths_begin():
    stack = random_attention_stack(n_layers=2, n_heads=2, width=5, qk_width=3, skips=True)
    tokens = path_decomposition(stack, np.random.default_rng(0).standard_normal((6, 5)), n_most=5)
    paths = NetworkPaths(
        tokens=tokens, mlps=0.5 * tokens.output, biases=0 * tokens.output, error=0.0, with_mlps=True
    )
    shares, residuals = path_figure(paths).axes
    heights = [bar.get_height() for bar in shares.patches]
    np.testing.assert_allclose(heights, np.concatenate([paths.shares()[name] for name in ("tokens", "MLPs")]))
    assert [text.get_text() for text in shares.get_legend().get_texts()] == ["from tokens", "from MLPs"]
    assert len(residuals.containers) == 1
    again = path_figure(paths.summary()).axes[0]
    assert [bar.get_height() for bar in again.patches] == heights


def test_bars_and_points_are_the_shares_and_residuals_by_length():
    stack = random_attention_stack(n_layers=3, n_heads=2, width=5, qk_width=3, skips=True)
    paths = path_decomposition(stack, np.random.default_rng(0).standard_normal((6, 5)), n_most=5)
    shares, residuals = path_figure(paths, title="Of $x").axes
    np.testing.assert_allclose([bar.get_height() for bar in shares.patches], paths.share)
    (container,) = residuals.containers
    np.testing.assert_allclose(container[0].get_ydata(), paths.residual)
    low, high = container[2][0].get_segments()[2][:, 1]
    assert (high - low) / 2 == pytest.approx(paths.residual_error[2])
    assert paths.residual_error[2] > 0
