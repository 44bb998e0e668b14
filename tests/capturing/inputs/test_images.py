import dataclasses
import io
import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image, PngImagePlugin

from haarbor.capturing.inputs import ImageSettings, image_samples, model_inputs
from haarbor.capturing.inputs._images import picture_samples
from haarbor.errors import CaptureError, DataError, ShapeError
from tests.capturing.inputs.builders import PLAIN, SMALL, assert_one_line, tensor
from tests.capturing.inputs.small_models import small_model

SHORTER_EDGE = ImageSettings(
    input_name="pixel_values", size=(64, 64), patch_size=(16, 16), resize_to=80, mean=(0.5,) * 3,
    std=(0.5,) * 3, source="by hand",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path, pixels):
    for name, image in zip(("b.png", "a.PNG", "c.png"), pixels, strict=True):
        Image.fromarray(image).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not an image")
    return tmp_path


def test_values_are_scaled_to_mean_and_deviation_by_hand():
    image = np.zeros((1, 8, 8, 3), dtype=np.uint8)
    image[0, :4] = 255
    (sample,) = image_samples(image, settings=PLAIN)
    values = sample.inputs["pixel_values"]
    assert values.shape == (1, 3, 8, 8)
    assert values.dtype == torch.float32
    assert (values[:, :, :4] == 1).all()
    assert (values[:, :, 4:] == -1).all()
    assert sample.labels == ("CLS", "0,0", "0,1", "1,0", "1,1")
    assert sample.valid.all()
    assert sample.valid.shape == (5,)


def test_a_folder_gives_its_images_in_the_order_of_their_names(folder, pixels):
    samples = image_samples(folder, settings=PLAIN)
    by_array = image_samples(pixels, settings=PLAIN)
    assert len(samples) == 3
    for index, position in enumerate((1, 0, 2)):
        assert torch.equal(tensor(samples, index), tensor(by_array, position))
    assert samples.description.endswith("resized to 8 x 8, normalised by by hand")
    assert len(image_samples(folder, settings=PLAIN, n_samples=2)) == 2


@pytest.mark.parametrize(
    ("processor", "options"),
    [
        ("ViTImageProcessorPil", {"size": {"height": 8, "width": 8}, "resample": 2}),
        (
            "DeiTImageProcessorPil",
            {"size": {"height": 12, "width": 12}, "crop_size": {"height": 8, "width": 8}},
        ),
        ("CLIPImageProcessorPil", {"size": {"shortest_edge": 9}, "crop_size": {"height": 8, "width": 8}}),
    ],
)
def test_images_are_prepared_as_the_checkpoints_own_processor_does(pixels, processor, options):
    import transformers

    own = getattr(transformers, processor)(**options)
    settings = model_inputs(small_model("ViTModel"), own.to_dict())
    samples = image_samples(pixels, settings=settings)
    for index, image in enumerate(pixels):
        expected = own(images=Image.fromarray(image), return_tensors="np")["pixel_values"]
        np.testing.assert_allclose(tensor(samples, index).numpy(), expected, rtol=0, atol=1e-5)


def test_floats_are_the_same_image_up_to_rounding(pixels):
    floats = pixels.transpose(0, 3, 1, 2).astype(np.float64) / 255
    for settings in (PLAIN, dataclasses.replace(PLAIN, resize_to=10)):
        one, two = image_samples(pixels, settings=settings), image_samples(floats, settings=settings)
        np.testing.assert_allclose(tensor(one).numpy(), tensor(two).numpy(), rtol=0, atol=2 / 255 + 1e-6)


@pytest.mark.parametrize("name", ["images.npy", "images.npz"])
def test_arrays_come_from_files_too(tmp_path, pixels, name):
    if name.endswith("npy"):
        np.save(tmp_path / name, pixels)
    else:
        np.savez(tmp_path / name, images=pixels, targets=np.zeros(3))
    assert torch.equal(
        tensor(image_samples(tmp_path / name, settings=PLAIN), 2),
        tensor(image_samples(torch.from_numpy(pixels), settings=PLAIN), 2),
    )


def test_one_channel_models_get_grey_images(tmp_path, pixels):
    grey = dataclasses.replace(PLAIN, n_channels=1, mean=(0.5,), std=(0.5,))
    Image.fromarray(pixels[0]).save(tmp_path / "a.png")
    assert tensor(image_samples(tmp_path, settings=grey)).shape == (1, 1, 8, 8)
    assert tensor(image_samples(pixels[..., :1], settings=grey)).shape == (1, 1, 8, 8)


def test_pictures_turned_by_the_camera_are_set_upright(tmp_path):
    image = np.zeros((8, 8, 3), dtype=np.uint8)
    image[:4] = 255
    exif = Image.Exif()
    exif[274] = 3  # upside down
    Image.fromarray(image).save(tmp_path / "a.png", exif=exif)
    values = tensor(image_samples(tmp_path, settings=PLAIN))
    assert (values[0, :, 4:] == 1).all()


def test_without_a_preprocessor_the_description_says_what_was_done(pixels):
    settings = model_inputs(small_model("ViTModel"))
    samples = image_samples(pixels, settings=settings)
    assert settings.mean == settings.std == (0.5, 0.5, 0.5)
    assert samples.description == (
        "an array of images, resized to 8 x 8, normalised by no preprocessor_config.json: 0.5 and 0.5"
    )


def test_a_folder_without_images_is_refused(tmp_path):
    with pytest.raises(CaptureError, match=r"must hold .png or .jpg files; it holds none"):
        image_samples(tmp_path, settings=PLAIN)


def test_a_file_that_is_no_image_is_refused_by_name(tmp_path):
    (tmp_path / "a.png").write_bytes(b"junk")
    samples = image_samples(tmp_path, settings=PLAIN)
    with pytest.raises(CaptureError, match=r"a.png must be an image; it could not be read"):
        samples[0]


def test_images_of_sixteen_bits_are_refused(tmp_path):
    Image.fromarray(np.full((8, 8), 40000, dtype=np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(DataError, match=r"^deep.png must have 8 bits a channel; found mode I;16"):
        image_samples(tmp_path, settings=PLAIN)[0]


def test_other_shapes_and_dtypes_are_refused(pixels):
    with pytest.raises(ShapeError, match=r"uint8 of shape \(n, height, width, 3\).*Move the axes"):
        image_samples(pixels.transpose(0, 3, 1, 2), settings=PLAIN)
    with pytest.raises(ShapeError, match=r"found float64 of shape \(3, 20, 14, 3\)"):
        image_samples(pixels / 255, settings=PLAIN)
    with pytest.raises(ShapeError, match="must be uint8 or floats; found int64"):
        image_samples(pixels.astype(np.int64), settings=PLAIN)


@pytest.mark.parametrize("wrong", [-0.5, 1.5, np.nan])
def test_floats_outside_zero_to_one_are_refused(wrong):
    images = np.full((1, 3, 8, 8), 0.5)
    images[0, 0, 0, 0] = wrong
    with pytest.raises(DataError, match="must lie between 0 and 1; image 0 has"):
        image_samples(images, settings=PLAIN)[0]


def test_opened_pictures_are_samples_as_well(pixels):
    samples = picture_samples([Image.fromarray(image) for image in pixels], "a set", settings=PLAIN)
    assert len(samples) == 3
    assert torch.equal(tensor(samples, 1), tensor(image_samples(pixels, settings=PLAIN), 1))


def test_a_sample_carries_what_the_network_saw_before_normalisation(pixels):
    sample = image_samples(pixels, settings=dataclasses.replace(PLAIN, mean=(0.1, 0.5, 0.9)))[0]
    assert sample.picture.shape == (8, 8, 3)
    assert sample.picture.dtype == np.uint8
    values = sample.inputs["pixel_values"][0].numpy().transpose(1, 2, 0)
    undone = (values * 0.5 + np.array([0.1, 0.5, 0.9], dtype=np.float32)) * 255
    np.testing.assert_allclose(sample.picture, undone, rtol=0, atol=1e-3)


def test_pictures_for_runs_are_small_and_of_three_colours(rng):
    large = dataclasses.replace(
        PLAIN, size=(448, 224), resize_to=(448, 224), n_channels=1, mean=(0.5,), std=(0.5,)
    )
    pixels = np.zeros((1, 448, 224, 1), dtype=np.uint8)
    pixels[:, :224] = 200
    picture = image_samples(pixels, settings=large)[0].picture
    assert picture.shape == (224, 112, 3)
    assert (picture[:112] == 200).all()
    assert (picture[112:] == 0).all()


def test_images_of_other_channels_have_no_picture():
    four = dataclasses.replace(PLAIN, n_channels=4, mean=(0.5,) * 4, std=(0.5,) * 4)
    assert image_samples(np.zeros((1, 4, 8, 8)), settings=four)[0].picture is None


def png(image, **options):
    written = io.BytesIO()
    image.save(written, "PNG", **options)
    return written.getvalue()


def promised_png(width, height):
    """A file that says it is an image of that size, and holds next to nothing."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(99)))
        + chunk(b"IEND", b"")
    )


def long_text_png():
    notes = PngImagePlugin.PngInfo()
    notes.add_text("note", "x" * 5_000_000, zip=True)
    return png(Image.new("RGB", (8, 8)), pnginfo=notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.png must be an image; it could not be read: cannot identify"),
        (b"junk" * 99, "a.png must be an image; it could not be read: cannot identify"),
        (png(Image.effect_noise((64, 64), 50))[:-400], "a.png must be an image; .* truncated"),
        (promised_png(60_000, 60_000), "a.png must be an image; .* exceeds limit"),
        (promised_png(2**31 - 1, 2**31 - 1), "a.png must be an image; .* exceeds limit"),
        (promised_png(10_000, 10_000), "a.png must be an image; .* truncated"),
        (promised_png(0, 5), "a.png must be an image"),
        (long_text_png(), "a.png must be an image; .* too large"),
    ],
    ids=["empty", "junk", "cut", "bomb", "largest", "large", "nothing", "long text"],
)  # fmt: skip
def test_images_that_are_none_are_one_line(tmp_path, content, message):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(CaptureError, match=message) as found:
        image_samples(tmp_path, settings=SMALL)[0]
    assert_one_line(found.value)
    assert str(tmp_path) not in str(found.value)


def test_animated_images_are_refused_and_second_views_of_photographs_are_not(tmp_path):
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.png", save_all=True, append_images=frames[1:])
    with pytest.raises(DataError, match=r"a.png must be one picture; it is animated"):
        image_samples(tmp_path, settings=SMALL)[0]
    (tmp_path / "a.png").unlink()
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    (tmp_path / "a.gif").rename(tmp_path / "b.png")
    with pytest.raises(DataError, match=r"b.png must be one picture; it is animated"):
        image_samples(tmp_path, settings=SMALL)[0]
    (tmp_path / "b.png").unlink()
    frames[0].save(tmp_path / "c.jpg", "MPO", save_all=True, append_images=frames[1:])
    assert image_samples(tmp_path, settings=SMALL)[0].picture[4, 4, 0] > 200


def test_a_strip_that_would_become_endless_is_refused(tmp_path):
    Image.new("RGB", (60_000, 1)).save(tmp_path / "a.png")
    arrays = (np.zeros((1, 1, 60_000, 3), np.uint8), np.zeros((1, 3, 60_000, 1), np.float32))
    for images in (tmp_path, *arrays):
        with pytest.raises(DataError, match="must not be so narrow; found"):
            image_samples(images, settings=SHORTER_EDGE)[0]


def test_folders_that_may_not_be_read_are_one_line(tmp_path, monkeypatch):
    import pathlib

    def closed(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "iterdir", closed)
    with pytest.raises(CaptureError, match="must be a folder of images that can be read; Permission denied"):
        image_samples(tmp_path, settings=SMALL)
