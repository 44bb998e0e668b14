"""What becomes of an image before a model sees it."""

import numpy as np
import pytest
import torch

from haarbor.capturing.inputs import image_samples, model_inputs
from haarbor.errors import CaptureError
from tests.capturing.inputs.builders import SMALL, assert_one_line, tensor
from tests.capturing.inputs.small_models import small_model


@pytest.mark.parametrize(
    "changes",
    [
        {"patch_size": (0, 4)}, {"patch_size": (16, 16)}, {"size": (10**12, 8)}, {"resize_to": 10**9},
        {"std": (0.0, 1.0, 1.0)}, {"mean": (float("nan"),) * 3}, {"rescale": float("inf")},
    ],
    ids=str,
)  # fmt: skip
def test_settings_of_absurd_images_are_refused(changes):
    import dataclasses

    with pytest.raises(CaptureError) as found:
        dataclasses.replace(SMALL, **changes)
    assert_one_line(found.value)


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [
        ("ViTModel", ("CLS",)),
        ("DeiTModel", ("CLS", "DIST")),
        ("SiglipVisionModel", ()),
        ("Dinov2WithRegistersModel", ("CLS", "REG0", "REG1")),
    ],
)
def test_there_is_a_label_for_every_token_of_the_model(pixels, kind, prefix):
    model = small_model(kind)
    settings = model_inputs(model)
    sample = image_samples(pixels, settings=settings)[0]
    assert sample.labels == (*prefix, "0,0", "0,1", "1,0", "1,1")
    with torch.no_grad():
        assert model(**sample.inputs).last_hidden_state.shape[1] == len(sample.labels)


def test_a_preprocessor_may_leave_values_as_they_are():
    settings = model_inputs(small_model("ViTModel"), {"do_normalize": False, "do_rescale": False})
    image = np.full((1, 8, 8, 3), 7, dtype=np.uint8)
    assert (tensor(image_samples(image, settings=settings)) == 7).all()


def test_a_preprocessor_for_other_channels_is_refused():
    with pytest.raises(CaptureError, match="for each of 3 channels; found 1"):
        model_inputs(small_model("ViTModel"), {"image_mean": [0.5], "image_std": [0.5]})
