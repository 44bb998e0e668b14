"""Trained networks and evaluation samples that come with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from haarbor.array_types import ByteArray, IntArray, frozen
from haarbor.errors import SettingError
from haarbor.options import found_text
from haarbor.zoo._checkpoint import ZooNetwork, load_checkpoint

__all__ = [
    "EMBEDDED_NAMES",
    "EmbeddedName",
    "LabelledImages",
    "embedded_folder",
    "embedded_network",
    "embedded_training",
    "sample_images",
    "sample_images_path",
    "sample_text_path",
]

EmbeddedName = Literal["transformer-xl", "vision-transformer"]
EMBEDDED_NAMES: tuple[str, ...] = get_args(EmbeddedName)

_HERE = Path(__file__).parent
_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LabelledImages:
    """Images and the classes they belong to."""

    images: ByteArray
    """Shape (n, height, width, 3)."""
    labels: IntArray
    """Shape (n,), positions in `class_names`."""
    class_names: tuple[str, ...]


def embedded_folder(name: str) -> Path:
    """Folder of an embedded network: weights, sizes, training record, model card.

    Parameters
    ----------
    name : {"transformer-xl", "vision-transformer"}

    Returns
    -------
    Path

    Raises
    ------
    SettingError
        If there is no such network.

    See Also
    --------
    haarbor.zoo.embedded_network : A network of the package.
    haarbor.zoo.load_checkpoint : A network from its folder.
    """
    if not isinstance(name, str) or name not in EMBEDDED_NAMES:
        raise SettingError(
            f"an embedded network must be one of {', '.join(EMBEDDED_NAMES)}; found {found_text(name)}. "
            "Name one of these."
        )
    return _HERE / "weights" / name.replace("-", "_")


def embedded_network(name: EmbeddedName) -> ZooNetwork:
    """Trained network that comes with the package, in eval mode.

    Parameters
    ----------
    name : {"transformer-xl", "vision-transformer"}
        A Transformer-XL of 6 x 8 heads that has read WikiText-2, or a Vision Transformer of 6 x 6 heads
        that tells the ten classes of CIFAR-10 apart.

    Returns
    -------
    TransformerXL or VisionTransformer

    See Also
    --------
    haarbor.load_model : A model by name or folder.
    haarbor.zoo.embedded_training : How it was trained.

    Examples
    --------
    >>> network = embedded_network("vision-transformer")
    >>> network.config.n_layers, network.config.n_heads, network.config.n_tokens
    (6, 6, 197)
    """
    return load_checkpoint(embedded_folder(name))


def embedded_training(name: EmbeddedName) -> dict[str, Any]:
    """How an embedded network was trained: data, settings, loss curve and final quality.

    Parameters
    ----------
    name : {"transformer-xl", "vision-transformer"}

    Returns
    -------
    dict

    See Also
    --------
    haarbor.zoo.embedded_network : A network of the package.
    """
    found: dict[str, Any] = json.loads((embedded_folder(name) / "training.json").read_text(encoding="utf-8"))
    return found


def sample_text_path() -> Path:
    """File with articles of WikiText-2 that no embedded network was trained on.

    See Also
    --------
    haarbor.zoo.sample_images_path : The file of pictures.
    """
    return _HERE / "data" / "wikitext2_sample.txt"


def sample_images_path() -> Path:
    """File with images of CIFAR-10 that no embedded network was trained on, and their classes.

    See Also
    --------
    haarbor.zoo.sample_images : Pictures of the package.
    """
    return _HERE / "data" / "cifar10_sample.npz"


def sample_images() -> LabelledImages:
    """Images of CIFAR-10 that no embedded network was trained on, and their classes.

    Returns
    -------
    LabelledImages

    See Also
    --------
    haarbor.zoo.sample_images_path : The file of pictures.
    haarbor.zoo.sample_text_path : The file of texts.

    Examples
    --------
    >>> sample = sample_images()
    >>> sample.images.shape, sample.class_names[sample.labels[0]]
    ((400, 32, 32, 3), 'cat')
    """
    with np.load(sample_images_path(), allow_pickle=False) as arrays:
        images, labels = arrays["images"], arrays["labels"].astype(np.int64)
    return LabelledImages(images=frozen(images), labels=frozen(labels), class_names=_CLASSES)
