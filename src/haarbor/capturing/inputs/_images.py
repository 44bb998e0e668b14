"""Images: a folder of files, or an array of pixels."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from haarbor.array_types import AnyArray, ByteArray, FloatArray, frozen
from haarbor.capturing.inputs._arrays import loaded_array, plain_array
from haarbor.capturing.inputs._image_settings import ImageSettings
from haarbor.capturing.inputs._samples import (
    Sample,
    Samples,
    chosen_count,
    digest_of_bytes,
    require_takes,
)
from haarbor.errors import CaptureError, DataError, HaarborError, ShapeError
from haarbor.named_path import named_path
from haarbor.needed_packages import needed_package
from haarbor.store import MOST_PIXELS

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["ImageSamples", "image_samples", "picture_samples"]

_SUFFIXES = (".jpeg", ".jpg", ".png")
# Most pixels that an image may have after resizing: the longer edge of a narrow strip could become huge.
_MOST_RESIZED = 1 << 27


def image_samples(
    images: str | Path | AnyArray | torch.Tensor,
    *,
    settings: ImageSettings,
    n_samples: int | None = None,
) -> Samples:
    """Samples of images, each resized and normalised for the model.

    Parameters
    ----------
    images : path, array or tensor
        A folder of ``.png`` and ``.jpg`` files, taken in the order of their names; or pixels, in a
        ``.npy`` or ``.npz`` file or in memory: uint8 of shape (n, height, width, channel), or floats
        between 0 and 1 of shape (n, channel, height, width).
    settings : ImageSettings
        What the model takes.
    n_samples : int, optional
        How many images to take, from the first on; all of them if None.

    Returns
    -------
    Samples

    Raises
    ------
    CaptureError
        If there is no such path, the folder holds no images, or a file is no image.
    ShapeError
        If the array has another shape or dtype.
    DataError
        If floats lie outside 0 to 1.

    See Also
    --------
    haarbor.capturing.inputs.text_samples : Samples of a text.
    haarbor.capture : Record the attention of a model.
    """
    require_takes(settings, ImageSettings)
    if isinstance(images, str | Path):
        path = named_path(images, "images")
        if path.is_dir():
            files = _image_files(path)
            if not files:
                raise CaptureError(
                    f"{path} must hold .png or .jpg files; it holds none. Check the path: subfolders are "
                    "not searched."
                )
            count = chosen_count(n_samples, len(files), "images", path.name)
            return _Files(files[:count], f"images in {path.name or 'the folder'}", settings)
        array, source = loaded_array(path, "images"), path.name
    else:
        array, source = plain_array(images, "images"), "an array of images"
    _require_pixels(array, settings)
    return _Pixels(array[: chosen_count(n_samples, array.shape[0], "images", source)], source, settings)


def picture_samples(pictures: Sequence[Any], source: str, *, settings: ImageSettings) -> Samples:
    """Samples of images that Pillow has opened.

    Parameters
    ----------
    pictures : sequence of PIL.Image.Image
    source : str
        Where they come from, for descriptions and messages.
    settings : ImageSettings

    Returns
    -------
    Samples
    """
    return _Pictures(pictures, source, settings)


class ImageSamples(Samples):
    """Images with what the model wants done to them."""

    def __init__(self, source: str, settings: ImageSettings) -> None:
        self._source, self._settings = source, settings

    @property
    def description(self) -> str:
        """Where the samples come from, their size and how they are normalised, in a line."""
        height, width = self._settings.size
        return f"{self._source}, resized to {height} x {width}, normalised by {self._settings.source}"

    @abstractmethod
    def pixels(self, index: int) -> AnyArray:
        """Pixels from 0 to 255 at the model's size, shape (height, width, channel)."""

    def sample(self, index: int) -> Sample:
        """Image at an index."""
        settings = self._settings
        pixels = self.pixels(index)
        scaled = pixels.astype(np.float32) * np.float32(settings.rescale)
        mean, std = (np.array(values, dtype=np.float32) for values in (settings.mean, settings.std))
        normal = (scaled - mean) / std
        tensor = torch.from_numpy(np.ascontiguousarray(normal.transpose(2, 0, 1), dtype=np.float32))
        labels = settings.labels
        return Sample(
            inputs={settings.input_name: tensor[None]},
            labels=labels,
            valid=frozen(np.ones(len(labels), dtype=np.bool_)),
            picture=_small_picture(pixels),
        )


class _Files(ImageSamples):
    def __init__(self, files: list[Path], source: str, settings: ImageSettings) -> None:
        super().__init__(source, settings)
        self._files = files

    @property
    def content_digest(self) -> str:
        """SHA-256 of the files, which are read for it and not opened as images."""
        return digest_of_bytes(map(_file_bytes, self._files))

    def __len__(self) -> int:
        return len(self._files)

    def pixels(self, index: int) -> AnyArray:
        image_module = _pillow()
        path = self._files[index]
        with _readable(path.name, str(path)), image_module.open(path) as picture:
            return _picture_pixels(picture, path.name, self._settings)


class _Pictures(ImageSamples):
    def __init__(self, pictures: Sequence[Any], source: str, settings: ImageSettings) -> None:
        super().__init__(source, settings)
        self._pictures = pictures

    def __len__(self) -> int:
        return len(self._pictures)

    def pixels(self, index: int) -> AnyArray:
        name = f"image {index} of {self._source}"
        with _readable(name):
            return _picture_pixels(self._pictures[index], name, self._settings)


class _Pixels(ImageSamples):
    def __init__(self, array: AnyArray, source: str, settings: ImageSettings) -> None:
        super().__init__(source, settings)
        self._array = array

    @property
    def content_digest(self) -> str:
        """SHA-256 of the pixels."""
        return digest_of_bytes(np.ascontiguousarray(image) for image in self._array)

    def __len__(self) -> int:
        return int(self._array.shape[0])

    def pixels(self, index: int) -> AnyArray:
        settings = self._settings
        image = np.asarray(self._array[index])
        if image.dtype == np.uint8:
            if image.shape[:2] == settings.size == settings.resize_to:
                return image
            module = _pillow()
            picture = module.fromarray(image[..., 0] if image.shape[2] == 1 else image)
            return _picture_pixels(picture, f"image {index} of {self._source}", settings)
        lowest, highest = float(image.min()), float(image.max())
        if not (lowest >= 0 and highest <= 1):
            raise DataError(
                f"images of floats must lie between 0 and 1; image {index} has {lowest:.3g} to "
                f"{highest:.3g}. Undo its normalisation, or pass uint8."
            )
        return 255.0 * _resized_channels(image, settings, f"image {index} of {self._source}")


def _require_pixels(array: AnyArray, settings: ImageSettings) -> None:
    channels = settings.n_channels
    if array.dtype == np.uint8:
        fits = array.ndim == 4 and array.shape[3] == channels
    elif array.dtype.kind == "f":
        fits = array.ndim == 4 and array.shape[1] == channels
    else:
        raise ShapeError(f"images must be uint8 or floats; found {array.dtype}. Convert them with astype.")
    if not fits or 0 in array.shape:
        raise ShapeError(
            f"images must be uint8 of shape (n, height, width, {channels}) or floats of shape "
            f"(n, {channels}, height, width); found {array.dtype} of shape {array.shape}. Move the axes."
        )


def _image_files(folder: Path) -> list[Path]:
    try:
        files = [file for file in folder.iterdir() if file.suffix.lower() in _SUFFIXES and file.is_file()]
    except OSError as error:
        raise CaptureError(
            f"{folder} must be a folder of images that can be read; {error.strerror or error}. Change its "
            "permissions."
        ) from error
    return sorted(files, key=lambda file: file.name)


def _file_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CaptureError(
            f"{path.name} must be an image that can be read; {error.strerror or error}. Check its "
            "permissions."
        ) from error


@contextmanager
def _readable(name: str, path: str = "") -> Iterator[None]:
    """Say in one line what is wrong with an image that Pillow reads while the block runs."""
    module = _pillow()
    try:
        with warnings.catch_warnings():
            # Large photographs are fine; what is beyond twice as many pixels Pillow refuses by itself.
            warnings.simplefilter("ignore", module.DecompressionBombWarning)
            yield
    except HaarborError:
        raise
    # A damaged or hostile file fails in whichever line of Pillow's many readers it meets first.
    except Exception as error:
        reason = " ".join(str(error).replace(path or "\0", name).split()) or type(error).__name__
        raise CaptureError(
            f"{name} must be an image; it could not be read: {reason.rstrip('.'):.200}. Save it anew or "
            "leave it out."
        ) from error


def _picture_pixels(picture: Image, name: str, settings: ImageSettings) -> AnyArray:
    from PIL import ImageOps

    # Photographs of telephones come with a second, smaller one in them, which is no animation.
    if getattr(picture, "is_animated", False) and picture.format != "MPO":
        raise DataError(f"{name} must be one picture; it is animated. Save the frame that is meant.")
    if picture.mode in ("F", "I") or picture.mode.startswith("I;"):
        raise DataError(f"{name} must have 8 bits a channel; found mode {picture.mode}. Convert it first.")
    upright = ImageOps.exif_transpose(picture)
    image = upright.convert("L" if settings.n_channels == 1 else "RGB")
    if image.size != (settings.size[1], settings.size[0]) or settings.resize_to != settings.size:
        height, width = _resized_shape(image.height, image.width, settings, name)
        image = image.resize((width, height), _filter(settings))
    pixels = np.asarray(image)
    return _middle(pixels[..., None] if pixels.ndim == 2 else pixels, settings.size)


def _small_picture(pixels: AnyArray) -> ByteArray | None:
    """Colour picture of pixels from 0 to 255, small enough for a run; None where they have no colours."""
    if pixels.shape[2] not in (1, 3):
        return None
    # Bicubic resizing of floats may overshoot a little.
    rounded = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    colours: ByteArray = np.repeat(rounded, 3, axis=2) if rounded.shape[2] == 1 else rounded
    longest = max(colours.shape[:2])
    if longest > MOST_PIXELS:
        module = _pillow()
        height, width = (max(1, round(side * MOST_PIXELS / longest)) for side in colours.shape[:2])
        picture = module.fromarray(np.ascontiguousarray(colours))
        colours = np.asarray(picture.resize((width, height), module.Resampling.BOX))
    return frozen(np.array(colours, order="C"))


def _resized_channels(image: FloatArray, settings: ImageSettings, name: str) -> FloatArray:
    """Floats of shape (channel, height, width), resized, as (height, width, channel)."""
    height, width = _resized_shape(image.shape[1], image.shape[2], settings, name)
    planes = [np.asarray(plane, dtype=np.float32) for plane in image]
    if (height, width) != image.shape[1:]:
        module = _pillow()
        planes = [
            np.asarray(module.fromarray(plane).resize((width, height), _filter(settings))) for plane in planes
        ]
    return _middle(np.stack(planes, axis=-1), settings.size)


def _resized_shape(height: int, width: int, settings: ImageSettings, name: str) -> tuple[int, int]:
    if not isinstance(settings.resize_to, int):
        return settings.resize_to
    shorter = settings.resize_to
    longer = int(shorter * max(height, width) / min(height, width))
    if shorter * longer > _MOST_RESIZED:
        raise DataError(
            f"{name} must not be so narrow; found {width} x {height} pixels. Cut it to the part "
            "that is meant."
        )
    return (shorter, longer) if height <= width else (longer, shorter)


def _middle(pixels: AnyArray, size: tuple[int, int]) -> AnyArray:
    top, left = (pixels.shape[0] - size[0]) // 2, (pixels.shape[1] - size[1]) // 2
    return pixels[top : top + size[0], left : left + size[1]]


def _filter(settings: ImageSettings) -> Any:
    return getattr(_pillow().Resampling, settings.resample.upper())


def _pillow() -> Any:
    return needed_package("PIL.Image", "an image")
