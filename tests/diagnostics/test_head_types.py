import numpy as np
import pytest

from haarbor.diagnostics import TYPES, attention_diagnostics, head_types, mean_figures
from haarbor.errors import DataError

N = 24


def rows(pick, causal=True):
    """Attention of queries that look at one key each, with a little for all that they see."""
    A = np.zeros((N, N))
    for i in range(N):
        seen = i + 1 if causal else N
        A[i, :seen] = 0.1 / seen
        A[i, min(max(0, pick(i)), seen - 1)] += 0.9
    return A


def typed(matrices, causal=True, first="", last="", **options):
    mask = np.tri(N, dtype=bool) if causal else np.ones((N, N), bool)
    texts = [first, *(f"t{i}" for i in range(N - 2)), last] if first or last else ()
    found = attention_diagnostics(np.stack(matrices, axis=2), mask, labels=(texts, texts))
    return [kind.name for kind in head_types([found], **options)]


def test_heads_of_a_decoder():
    spread = np.tri(N, dtype=bool) / np.arange(1, N + 1)[:, None]
    scattered = rows(lambda i: (7 * i) % 23 if i > 8 else i - 5)
    near = rows(lambda i: i - 1 - i % 3)
    matrices = [
        rows(lambda i: i - 1), rows(lambda i: i), rows(lambda i: 0), rows(lambda i: 5), near, spread,
        scattered, 0.35 * scattered + 0.35 * rows(lambda i: i - 6) + 0.3 * spread,
    ]  # fmt: skip
    assert typed(matrices) == [
        "previous token", "diagonal", "first-token sink", "one token", "local", "broad", "focused", "mixed",
    ]  # fmt: skip


def test_heads_of_an_encoder():
    picks = [lambda i: i + 1, lambda i: 0, lambda i: N - 1]
    matrices = [rows(pick, causal=False) for pick in picks]
    assert typed(matrices, False, "[CLS]", "[SEP]") == ["next token", "class token", "separator"]
    assert typed(matrices, False) == ["next token", "first token", "last token"]


def test_a_head_of_the_same_token():
    texts = [f"t{i % 8}" for i in range(N)]
    X = rows(lambda i: i - 8 if i >= 8 else 3)[:, :, None]
    found = attention_diagnostics(X, np.tri(N, dtype=bool), labels=(texts, texts))
    (kind,) = head_types([found])
    assert (kind.name, kind.figure) == ("same token", "same_token")
    assert kind.value == found.figures["same_token"][0]
    assert str(kind) == f"same token ({kind.value:.2f})"


def test_induction_is_looked_at_first():
    repeated = {"induction": np.array([0.5, 0.29]), "duplicate_token": np.array([0.45, 0.6])}
    assert typed([rows(lambda i: 0)] * 2, repeated=repeated) == ["induction", "duplicate token"]


def test_every_type_has_its_words():
    assert all(meaning.endswith(".") for meaning in TYPES.values())


def test_figures_are_means_over_the_batches_that_have_them():
    one = attention_diagnostics(np.full((4, 4, 1), 0.25), labels=(list("abca"), list("abca")))
    two = attention_diagnostics(np.full((2, 2, 1), 0.5), labels=(list("ab"), list("ab")))
    found = mean_figures([one, two])
    np.testing.assert_allclose(found["confidence"], [0.375])
    # The second text has no token twice.
    np.testing.assert_allclose(found["same_token"], [0.25])
    with pytest.raises(DataError, match="found none"):
        mean_figures([])
