"""Grids of image tokens, from what the model is given and configured with."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
from haarbor.capturing.inputs._image_grid import image_grid  # noqa: E402


def config(**vision):
    return SimpleNamespace(vision_config=SimpleNamespace(**vision))


def test_the_grid_is_that_of_the_patches_where_there_are_as_many_tokens():
    assert image_grid(8, {}, config(image_size=[8, 16], patch_size=4)) == (2, 4)
    assert image_grid(16, {}, config(image_size={"height": 8, "width": 32}, patch_size=(4, 4))) == (2, 8)


def test_fewer_tokens_than_patches_are_a_square_or_nothing():
    assert image_grid(9, {}, config(image_size=24, patch_size=4)) == (3, 3)
    assert image_grid(10, {}, config(image_size=24, patch_size=4)) is None
    assert image_grid(0, {}, None) is None


def test_the_model_may_be_told_the_grid_of_its_patches():
    sizes = config(image_size=999, patch_size=1, spatial_merge_size=2)
    assert image_grid(6, {"image_grid_thw": torch.tensor([[1, 4, 6]])}, sizes) == (2, 3)
    for wrong in ([[2, 4, 6]], [[1, 4, 6], [1, 4, 6]], [[1, 4, 8]]):
        assert image_grid(6, {"image_grid_thw": torch.tensor(wrong)}, sizes) is None


@pytest.mark.parametrize("shape", [(4, 3, 8, 8), (1, 4, 3, 8, 8)])
def test_several_pictures_or_tiles_are_no_grid_even_if_their_number_is_a_square(shape):
    assert image_grid(16, {"pixel_values": torch.zeros(shape)}, None) is None
    assert image_grid(16, {"pixel_values": torch.zeros(1, 3, 8, 8)}, None) == (4, 4)
