"""Calibration and evaluation data for a loaded model, and the metric that fits it."""

from dataclasses import replace

import numpy as np
import pytest

from haarbor.capturing import load_model
from haarbor.errors import CaptureError, DataError, PruningError, SettingError
from haarbor.pruning import pruning_data, require_disjoint
from haarbor.zoo import sample_images


@pytest.fixture(scope="module")
def vision():
    return load_model("zoo:vision-transformer")


def test_the_first_samples_calibrate_and_those_that_follow_measure(vision):
    data = pruning_data(vision, "zoo", n_calibration=3, n_evaluation=2)
    require_disjoint(data.calibration, data.evaluation)
    labels = [int(batch.labels) for batch in (*data.calibration, *data.evaluation)]
    assert labels == sample_images().labels[:5].tolist()
    assert data.metric.name == "classification-loss"
    assert data.description.endswith("; 3 samples to calibrate, 2 to measure")
    assert data.notes == ()


def test_without_classes_the_answers_of_the_whole_network_stand_for_them(vision, tmp_path):
    np.save(tmp_path / "images.npy", np.zeros((5, 32, 32, 3), np.uint8))
    data = pruning_data(vision, str(tmp_path / "images.npy"), n_calibration=3, n_evaluation=2)
    assert len({int(batch.labels) for batch in (*data.calibration, *data.evaluation)}) == 1
    assert data.notes == ("the data has no classes: the whole network's own answers stand for them.",)


def test_a_text_is_measured_by_the_next_token():
    data = pruning_data(load_model("zoo:transformer-xl"), "zoo", n_calibration=1, n_evaluation=1, n_tokens=8)
    assert data.metric.name == "loss"
    assert data.calibration[0].labels is None
    assert data.alike
    shorter = replace(data.calibration[0], inputs={"input_ids": data.calibration[0].tokens[:, :5]})
    assert not replace(data, calibration=(*data.calibration, shorter)).alike


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_calibration": 0}, SettingError, "n_calibration must be a whole number above 0; found 0"),
        ({"n_evaluation": 2.5}, SettingError, "n_evaluation must be a whole number above 0; found 2.5"),
        ({"metric": "beauty"}, SettingError, "metric must be one of auto, .*; found 'beauty'"),
        ({"metric": "masked-loss"}, PruningError, "needs a mask token; the tokenizer of .* has none"),
    ],
)
def test_settings_that_do_not_fit_are_refused(vision, options, error, message):
    with pytest.raises(error, match=message):
        pruning_data(vision, "zoo", **{"n_calibration": 2, "n_evaluation": 2, **options})


def test_damaged_labels_are_one_line(vision, tmp_path):
    np.savez(tmp_path / "x.npz", images=np.zeros((4, 32, 32, 3), np.uint8), labels=np.array([None] * 4))
    with pytest.raises(DataError, match=r"x\.npz must be an array of numbers .* could not be read"):
        pruning_data(vision, str(tmp_path / "x.npz"), n_calibration=2, n_evaluation=2)


def test_more_samples_are_those_that_follow_and_none_where_the_data_end(vision, tmp_path):
    data = pruning_data(vision, "zoo", n_calibration=3, n_evaluation=2)
    assert [int(batch.labels) for batch in data.more()] == sample_images().labels[5:14].tolist()
    np.save(tmp_path / "images.npy", np.zeros((8, 32, 32, 3), np.uint8))
    for n_evaluation, n_more in ((2, 3), (4, 0)):
        few = pruning_data(vision, str(tmp_path / "images.npy"), n_calibration=3, n_evaluation=n_evaluation)
        assert len(few.more()) == n_more


@pytest.mark.parametrize(("n_images", "n_calibration"), [(10, 8), (9, 4), (6, 4), (5, 3)])
def test_fewer_samples_calibrate_where_the_data_hold_no_more(vision, tmp_path, n_images, n_calibration):
    """Eight are wanted, then four, and three are the least, beside the two that are measured on."""
    np.save(tmp_path / "images.npy", np.zeros((n_images, 32, 32, 3), np.uint8))
    data = pruning_data(
        vision, str(tmp_path / "images.npy"), n_calibration=8, least_calibration=3, n_evaluation=2
    )
    assert (len(data.calibration), len(data.evaluation)) == (n_calibration, 2)
    assert data.description.endswith(f"; {n_calibration} samples to calibrate, 2 to measure")


def test_too_few_samples_are_refused_with_what_is_needed_at_least(vision, tmp_path):
    np.save(tmp_path / "images.npy", np.zeros((4, 32, 32, 3), np.uint8))
    with pytest.raises(CaptureError, match=r"5 batches were asked for; .* holds 4 images"):
        pruning_data(
            vision, str(tmp_path / "images.npy"), n_calibration=8, least_calibration=3, n_evaluation=2
        )
    with pytest.raises(SettingError, match="least_calibration must be"):
        pruning_data(vision, "zoo", least_calibration=0)
