"""Ways to make up for removed heads, by name."""

import numpy as np
import pytest

from haarbor.errors import SettingError
from haarbor.pruning import calibration_pass, compensate, compensated, damage_curves
from haarbor.pruning._replacement_fits import replacement_fits, require_replacement
from tests.pruning.builders import CALIBRATION, EVALUATION, answer, projection_inputs
from tests.pruning.small_networks import network


@pytest.fixture(scope="module")
def llama():
    model = network("llama")
    return model, calibration_pass(model, CALIBRATION, parts={"gradients"})


def test_weights_alone_are_least_squares_without_a_mean(llama):
    model, found = llama
    removed = found.heads.mask([(0, 1), (2, 3)])
    fits = replacement_fits(model, found, removed, "weights").fits
    x, output = projection_inputs(model, found.heads, CALIBRATION)[0]
    layer, fit = found.heads.layers[0], fits[0]
    kept = np.setdiff1d(np.arange(layer.width), np.arange(layer.width)[layer.channels(1)])
    # The ridge pulls the change of the weights to zero: rows of its root below the tokens.
    root = np.sqrt(0.01 * np.mean(x**2) * len(x)) * np.eye(kept.size)
    weight = found.moments[0].weight
    missing = output - found.moments[0].bias - x[:, kept] @ weight[:, kept].T
    design, target = np.vstack([x[:, kept], root]), np.vstack([missing, np.zeros((kept.size, len(weight)))])
    change = np.linalg.lstsq(design, target, rcond=None)[0]
    np.testing.assert_allclose(fit.weight[:, kept], weight[:, kept] + change.T, atol=1e-5)
    np.testing.assert_allclose(fit.bias, found.moments[0].bias, atol=1e-12)
    assert fits[1] is None


def test_refit_is_the_compensation_and_all_run(llama):
    model, found = llama
    removed = found.heads.mask([(0, 1), (2, 3)])
    own = replacement_fits(model, found, removed, "refit")
    known = compensate(model, found.heads, removed, None, moments=found.moments)
    np.testing.assert_array_equal(own.fits[0].weight, known.fits[0].weight)
    whole = answer(model, EVALUATION[0])
    for name in ("refit", "sequential", "weights", "scale"):
        with compensated(model, found.heads, replacement_fits(model, found, removed, name)):
            changed = answer(model, EVALUATION[0])
        assert changed.shape == whole.shape
        assert (changed - whole).abs().max() > 1e-4
    curves = damage_curves(
        model, found, EVALUATION, ["osscar", "fisher-mask"], shares=[0.5], replacement="scale"
    )
    assert curves.n_removed.tolist() == [6]


def test_other_replacements_are_refused():
    with pytest.raises(
        SettingError, match="replacement must be one of zero, mean, refit, sequential, weights, scale; found"
    ):
        require_replacement("magic")
