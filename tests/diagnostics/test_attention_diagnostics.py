import numpy as np
import pytest

from haarbor.diagnostics import ATTENTION_FIGURES, attention_diagnostics
from haarbor.diagnostics import _attention_diagnostics as module
from haarbor.errors import DataError, SettingError, ShapeError
from tests.diagnostics.slow_diagnostics import slow_figures


def attention(rng, mask, n_heads):
    scores = np.where(mask[..., None], rng.normal(0, 2, (*mask.shape, n_heads)), -np.inf)
    powers = np.exp(scores)
    return powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-300)


@pytest.mark.parametrize("causal", [True, False])
def test_figures_are_those_of_a_slow_reference(rng, causal):
    mask = np.tri(9, dtype=bool) if causal else np.ones((9, 9), bool)
    X = attention(rng, mask, 10)
    texts = ["abcabbcaa"[i] for i in range(9)]
    found = attention_diagnostics(X, mask, labels=(texts, texts))
    assert tuple(found.figures) == ATTENTION_FIGURES
    assert found.is_causal is causal
    for head in range(10):
        slow = slow_figures(X[:, :, head].tolist(), mask.tolist(), texts, texts)
        for name, value in slow.items():
            np.testing.assert_allclose(found.figures[name][head], value, rtol=2e-5, err_msg=name)
    flat = X.reshape(-1, 10)
    cosines = (flat.T @ flat) / np.outer(*2 * [np.linalg.norm(flat, axis=0)])
    np.fill_diagonal(cosines, -1)
    np.testing.assert_array_equal(found.nearest, cosines.argmax(axis=1))
    np.testing.assert_allclose(found.figures["nearest_similarity"], cosines.max(axis=1), rtol=1e-5)


def test_padding_changes_nothing(rng):
    mask = np.tri(6, dtype=bool)
    X = attention(rng, mask, 3)
    wide, seen = np.zeros((8, 8, 3)), np.zeros((8, 8), bool)
    wide[1:7, 1:7], seen[1:7, 1:7] = X, mask
    texts = tuple("xabcabyz")
    inner, outer = (
        attention_diagnostics(X, mask, labels=(texts[1:7],) * 2),
        attention_diagnostics(wide, seen, labels=(texts, texts)),
    )
    for name, values in inner.figures.items():
        np.testing.assert_allclose(outer.figures[name], values, rtol=1e-6, err_msg=name)
    np.testing.assert_array_equal(outer.strongest, inner.strongest + 1)
    assert (outer.first_label, outer.last_label, outer.n_keys) == ("a", "y", 6)


def test_figures_follow_a_permutation_of_heads(rng):
    X = attention(rng, np.tri(7, dtype=bool), 11)
    order = rng.permutation(11)
    plain, moved = (
        attention_diagnostics(X, np.tri(7, dtype=bool)),
        attention_diagnostics(X[:, :, order], np.tri(7, dtype=bool)),
    )
    for name, values in plain.figures.items():
        np.testing.assert_allclose(moved.figures[name], values[order], rtol=1e-6, err_msg=name)
    np.testing.assert_array_equal(order[moved.nearest], plain.nearest[order])


def test_a_large_batch_is_taken_in_pieces(rng, monkeypatch):
    mask = np.tri(12, dtype=bool)
    X = attention(rng, mask, 5)
    whole = attention_diagnostics(X, mask)
    monkeypatch.setattr(module, "_BYTES_AT_ONCE", 4 * 144)
    monkeypatch.setattr(module, "_SIMILARITY_BYTES", 5 * 144 * 2)
    monkeypatch.setattr(module, "_MOST_ROWS", 4)
    pieces = attention_diagnostics(X, mask)
    assert (whole.n_compared, pieces.n_compared, whole.n_ranked, pieces.n_ranked) == (12, 6, 12, 4)
    for name in set(ATTENTION_FIGURES) - {
        "spectral_gap",
        "stable_rank",
        "effective_rank",
        "nearest_similarity",
    }:
        np.testing.assert_allclose(pieces.figures[name], whole.figures[name], rtol=1e-6)
    flat = X[::2].reshape(-1, 5)
    cosine = (flat[:, 0] @ flat[:, pieces.nearest[0]]) / np.prod(
        np.linalg.norm(flat[:, [0, pieces.nearest[0]]], axis=0)
    )
    np.testing.assert_allclose(pieces.figures["nearest_similarity"][0], cosine, rtol=1e-5)
    s = np.linalg.svd(X[::3, :, 0], compute_uv=False)
    np.testing.assert_allclose(pieces.figures["stable_rank"][0], (s**2).sum() / s[0] ** 2, rtol=1e-5)


def test_one_head_has_no_nearest():
    found = attention_diagnostics(np.full((3, 3, 1), 1 / 3))
    assert found.nearest.tolist() == [-1]
    assert np.isnan(found.figures["nearest_similarity"]).all()


def test_cross_attention_has_no_places(rng):
    found = attention_diagnostics(attention(rng, np.ones((4, 4), bool), 2), same_sequence=False)
    for name in ("mean_distance", "diagonal", "previous_token", "near", "same_token"):
        assert np.isnan(found.figures[name]).all()
    assert np.isfinite(found.figures["first_token"]).all()


@pytest.mark.parametrize(
    ("change", "told"),
    [(-0.5, "an entry of -0.5"), (0.7, "a query that gives 1.7 in all"), (np.nan, "an entry of nan")],
)
def test_what_is_no_attention_is_refused(change, told):
    X = np.zeros((3, 3, 2))
    X[:, 0] = 1
    X[1, 1, 1] = change
    with pytest.raises(DataError, match=f"found {told} among"):
        attention_diagnostics(X)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="axes query, key, head"):
        attention_diagnostics(np.ones((3, 3)))
    with pytest.raises(ShapeError, match="mask must have shape"):
        attention_diagnostics(np.full((3, 3, 1), 1 / 3), np.ones((2, 3), bool))
    with pytest.raises(ShapeError, match="labels of the keys must be 3 texts; found 1"):
        attention_diagnostics(np.full((3, 3, 1), 1 / 3), labels=(list("abc"), ["a"]))
    with pytest.raises(SettingError, match="labels must be two lists of texts"):
        attention_diagnostics(np.full((3, 3, 1), 1 / 3), labels=("abc", "abc"))
    with pytest.raises(ShapeError, match="mask must be boolean"):
        attention_diagnostics(np.full((3, 3, 1), 1 / 3), np.ones((3, 3)))
    with pytest.raises(DataError, match="every entry is masked"):
        attention_diagnostics(np.full((3, 3, 1), 1 / 3), np.zeros((3, 3), bool))
