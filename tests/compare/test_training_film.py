"""A training made up of steps from a uniform network to a trained one."""

import numpy as np
import pytest

import haarbor as hb
from haarbor.collapse import keep_collapse
from haarbor.compare import TrainingFilm
from haarbor.diagnostics import run_types
from haarbor.errors import DataError, SettingError
from haarbor.stored_result import result_type_of
from tests.collapse.made_up import made_collapse
from tests.compare.networks import N_TOKENS, attention, written

SHARES = (0.0, 0.0, 0.5, 1.0)
STEPS = (0, 1, 10, 100)


def halfway(batch, share):
    uniform = np.tril(np.ones((N_TOKENS, N_TOKENS)))
    uniform = (uniform / uniform.sum(axis=1, keepdims=True))[:, :, None]
    return (1 - share) * uniform + share * attention(batch)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("film")
    return [
        written(
            folder / f"{step}",
            [halfway(batch, share) for batch in range(2)],
            words="w",
            model=f"step-{step:03d}",
            weights=f"sha256:{share}",
        )
        for step, share in zip(STEPS, SHARES, strict=True)
    ]


@pytest.fixture(scope="module")
def film(runs):
    return hb.training_film(runs)


def test_the_steps_are_in_the_names(film):
    assert film.steps.tolist() == list(STEPS)
    assert film.names == ("step-000", "step-001", "step-010", "step-100")


def test_distances_fall_to_the_last_checkpoint(film):
    mean = film.distances_to_last.mean(axis=1)
    assert (film.distances_to_last[-1] == 0).all()
    # On the same trees the distance would be half: trees of checkpoints differ.
    assert mean[0] == pytest.approx(mean[1])
    assert mean[2] == pytest.approx(mean[0] / 2, rel=0.25)


def test_first_token_shares_are_means_over_all_other_queries(film, runs):
    expected = np.mean([halfway(batch, 0.5)[1:, 0].mean(axis=0) for batch in range(2)], axis=0)
    np.testing.assert_allclose(film.sink_shares[2], expected, rtol=1e-6)
    np.testing.assert_allclose(film.sink_rates, (film.sink_shares > 0.3).mean(axis=1))


def test_the_other_figures_are_those_of_the_runs(film, runs):
    for place, run in enumerate(runs):
        entropies = [run.load_result("head-entropy", batch=batch).normalised for batch in range(2)]
        np.testing.assert_allclose(film.entropies[place], np.mean(entropies, axis=0))
        network = [run.load_result("network-entropy", batch=batch).normalised for batch in range(2)]
        assert film.network_entropies[place] == pytest.approx(np.mean(network))
    assert film.tree_correlations[-1] == pytest.approx(1)
    assert ((film.structure > 0) & (film.structure < 1)).all()
    np.testing.assert_allclose(film.by_layer("entropies")[:, 0], film.entropies[:, :4].mean(axis=1))


def test_half_way_is_where_a_trajectory_stays_nearer_to_its_end(film):
    made = {name: getattr(film, name) for name in TrainingFilm.__slots__}

    def followed(values):
        return TrainingFilm(**{**made, "network_entropies": np.array(values)}).half_way(
            "entropy of the network"
        )

    assert followed([1.0, 1.2, 1.8, 2.0]) == 10
    assert followed([1.0, 1.9, 1.2, 2.0]) == 100
    assert followed([2.0, 0.5, 0.2, 0.0]) == 1
    assert np.isnan(followed([1.0, 3.0, 2.0, 1.0]))
    assert np.isnan(followed([np.nan, 1.0, 1.0, 1.0]))


def test_checkpoints_with_the_same_weights_are_pointed_out(film):
    assert film.equal_weights == (("step-000", "step-001"),)
    assert "step-000 and step-001 have the same weights, although their names differ." in film.verdict()


def test_sinks_are_told_when_they_appear(film):
    told = " ".join(film.verdict())
    first = film.steps[np.flatnonzero(film.sink_rates)[0]]
    assert f"is seen at step {first:g}" in told


def test_types_of_heads_are_told_when_they_appear(film, runs):
    assert len(film.types) == len(STEPS)
    assert film.types[-1] == tuple(kind.name for kind in run_types(runs[-1]))
    counts = film.type_counts()
    assert counts["previous token"][0] == 0
    assert counts["previous token"][-1] == film.types[-1].count("previous token") > 0
    assert sum(counts.values()).tolist() == [8] * 4
    first, last = STEPS[np.flatnonzero(counts["previous token"])[0]], counts["previous token"][-1]
    assert f"previous token at step {first} ({last} at the end)" in " ".join(film.verdict())


def test_films_without_types_are_still_read(film):
    made = {name: getattr(film, name) for name in TrainingFilm.__slots__ if name != "types"}
    old = result_type_of(film).result(1, made)
    assert old.types == ()
    assert old.type_counts() == {}


def test_the_film_is_kept_in_the_last_run(film, runs):
    kept = hb.open_run(runs[-1].location).load_result("training-film")
    np.testing.assert_array_equal(kept.distances_to_last, film.distances_to_last)
    assert kept.verdict() == film.verdict()
    assert not runs[0].has_result("training-film")


class Collapse:
    """What is looked at of a RankCollapse."""

    variants = ("as it is",)

    def __init__(self, n_layers):
        self.values = np.linspace(1.0, 0.5, n_layers + 1)

    def middle(self, figure, variant):
        assert (figure, variant) == ("composite", "as it is")
        return self.values


def test_residuals_are_those_given(runs):
    found = hb.training_film(runs[2:], collapses=[Collapse(2), Collapse(2)], n_batches=1, keep=False)
    np.testing.assert_allclose(found.residuals, [[1.0, 0.75, 0.5]] * 2)
    assert "residual after the last layer" in found.trajectories()
    keep_collapse(runs[2], {"trained": made_collapse(2)})
    assert hb.training_film(runs[2:], n_batches=1, keep=False).residuals is None
    keep_collapse(runs[3], {"trained": made_collapse(2)})
    kept = hb.training_film(runs[2:], n_batches=1, keep=False)
    np.testing.assert_allclose(kept.residuals, [made_collapse(2).middle("composite", "as it is")] * 2)
    for wrong in ([Collapse(2)], [Collapse(2), "none"], [Collapse(2), Collapse(3)]):
        with pytest.raises(SettingError, match="collapses must be"):
            hb.training_film(runs[2:], collapses=wrong)


def test_rejections(runs, tmp_path):
    with pytest.raises(SettingError, match="two checkpoints or more"):
        hb.training_film(runs[:1])
    with pytest.raises(SettingError, match="steps must increase"):
        hb.training_film(runs[::-1])
    with pytest.raises(SettingError, match="one for each of the 4 checkpoints"):
        hb.training_film(runs, steps=[1, 2])
    unnamed = written(tmp_path / "unnamed", [halfway(0, 1)], words="w", model="last")
    with pytest.raises(SettingError, match=r"no number: 'last'\. Pass the steps"):
        hb.training_film([runs[0], unnamed])
    deep = written(tmp_path / "deep", [halfway(0, 1)], words="w", n_layers=4, model="step-9")
    with pytest.raises(SettingError, match=r"found 2 x 4 and, in .*, 4 x 2"):
        hb.training_film([runs[0], deep])
    other = written(tmp_path / "other", [halfway(0, 1)], words="x", model="step-9")
    with pytest.raises(DataError, match="share a batch of the same tokens"):
        hb.training_film([runs[0], other])
