import dataclasses

import numpy as np
import pytest

from haarbor.compare import Comparison, HeadTreeAgreement, MatchingTest, RunComparison
from haarbor.errors import SettingError
from haarbor.plots import comparison_figure

TREES = HeadTreeAgreement(distance=0.1, cophenetic=0.5, p_value=0.01, levels=np.array([0.5]))


def pair(names=("one", "two"), distance=0.25):
    distances = np.full((4, 6), 1.0)
    distances[range(4), [5, 1, 2, 3]] = distance
    return RunComparison(
        names=names,
        places=("a", "b"),
        layers=(2, 3),
        heads_per_layer=(2, 2),
        same_weights=None,
        tokens="the same",
        batches=(0, 1),
        method="tree EMD",
        distances=distances,
        pairs=np.array([[0, 5], [1, 1], [2, 2], [3, 3]]),
        test=MatchingTest(matched=0.2, chance=0.8, p_value=0.01, n_permutations=99),
        geometry=None,
        trees=TREES,
        trees_in_place=None,
        entropies=(np.array([1.0, 3.0, 2.0, 2.0]), np.arange(6.0)),
        entropy_correlation=0.5,
        network_entropies=(np.ones(2), np.ones(2)),
        coherence=(0.9, 0.8),
        cka=np.full((2, 3), 0.4),
        cka_other_tokens=None,
    )


def test_two_runs_show_heads_layers_pairs_and_entropies():
    figure = comparison_figure(Comparison(names=("one", "two"), pairs=(pair(),)), title="Of $x")
    heads, layers, pairs, entropies = figure.axes[:4]
    found = pair()
    np.testing.assert_allclose(heads.images[0].get_array(), found.distances / found.distances.mean())
    np.testing.assert_array_equal(heads.collections[0].get_offsets()[0], [5, 0])
    np.testing.assert_array_equal(layers.images[0].get_array(), found.cka)
    np.testing.assert_allclose(pairs.get_lines()[0].get_ydata(), 0.25 / found.distances.mean())
    assert pairs.get_title(loc="left") == "alikeness 0.75 on unseen tokens, p = 0.01"
    lines = {line.get_label(): line for line in entropies.get_lines()}
    np.testing.assert_allclose(lines["one"].get_ydata(), [2, 2])
    np.testing.assert_allclose(lines["two"].get_ydata(), [0.5, 2.5, 4.5])
    np.testing.assert_allclose(lines["two"].get_xdata(), [1 / 6, 1 / 2, 5 / 6])


def test_on_different_tokens_there_are_the_matched_heads_and_the_entropies():
    other = dataclasses.replace(
        pair(), tokens="different", distances=None, cka=None, test=None, geometry=(0.1, 0.2, 0.01),
        method="Gromov-Wasserstein",
    )  # fmt: skip
    heads, entropies = comparison_figure(Comparison(names=("one", "two"), pairs=(other,))).axes
    assert heads.get_title(loc="left") == "heads, matched by Gromov-Wasserstein"
    assert not heads.images
    assert len(entropies.get_lines()) == 2


def test_several_runs_show_the_distance_of_every_two():
    pairs = (pair(), pair(("one", "three"), 0.0), pair(("two", "three"), 0.5))
    comparison = Comparison(names=("one", "two", "three"), pairs=pairs)
    matrix, lines = comparison_figure(comparison).axes[:2]
    np.testing.assert_allclose(matrix.images[0].get_array(), comparison.distances())
    assert [text.get_text() for text in matrix.get_yticklabels()] == ["1  one", "2  two", "3  three"]
    assert len(lines.get_lines()) == 3


def test_what_is_no_comparison_is_refused():
    with pytest.raises(SettingError, match="comparison must be"):
        comparison_figure(pair())
