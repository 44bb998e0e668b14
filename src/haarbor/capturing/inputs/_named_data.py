"""Data by name, as on the command line: a path, a data set of the hub, the package's own data, or noise."""

from __future__ import annotations

from typing import Any

from haarbor.capturing.inputs._hub_datasets import dataset_samples
from haarbor.capturing.inputs._image_settings import ImageSettings
from haarbor.capturing.inputs._images import image_samples
from haarbor.capturing.inputs._model_inputs import AudioInputs, ModelInputs
from haarbor.capturing.inputs._random_batches import random_samples
from haarbor.capturing.inputs._samples import Samples, require_takes
from haarbor.capturing.inputs._text import Split, text_samples
from haarbor.capturing.inputs._token_ids import token_id_samples
from haarbor.capturing.inputs._token_inputs import TokenInputs
from haarbor.errors import CaptureError
from haarbor.named_path import named_path
from haarbor.zoo import sample_images_path, sample_text_path

__all__ = ["named_samples"]


def named_samples(
    data: str,
    *,
    takes: ModelInputs,
    tokenizer: Any = None,
    n_tokens: int = 256,
    n_samples: int = 10,
    split: Split = "whole",
    seed: int = 0,
) -> Samples:
    """Samples of what the user named on the command line.

    Parameters
    ----------
    data : str
        ``"random"``; ``"zoo"`` for the text or images that come with the package; ``"hub:NAME"``,
        ``"hub:NAME:PART"`` or ``"hub:NAME:CONFIGURATION:PART"`` for a data set of the Hugging Face hub;
        or a path: a folder of images, a ``.npy`` or ``.npz`` array of token ids or pixels, or a text
        file.
    takes : TokenInputs, ImageSettings or AudioInputs
        What the model takes.
    tokenizer : transformers.PreTrainedTokenizerBase, optional
    n_tokens : int, default 256
        For text and tokens.
    n_samples : int, default 10
    split : {"whole", "lines"}, default "whole"
        For text.
    seed : int, default 0
        For random samples.

    Returns
    -------
    Samples

    Raises
    ------
    CaptureError
        If there is no such data, or it is not of the kind that the model takes.

    See Also
    --------
    haarbor.capturing.inputs.text_samples : Samples of a text.
    haarbor.capturing.inputs.image_samples : Samples of pictures.
    """
    if not isinstance(data, str):
        raise CaptureError(
            f"data must be named by text: a path, hub:NAME, zoo or random; found {data!r:.60}. Pass arrays "
            "to token_id_samples or image_samples."
        )
    require_takes(takes, TokenInputs, ImageSettings, AudioInputs)
    if data == "random":
        return random_samples(takes, n_samples=n_samples, n_tokens=n_tokens, seed=seed)
    if not isinstance(takes, TokenInputs | ImageSettings):
        raise CaptureError("the model takes sound, for which only random samples are made: pass 'random'.")
    if data.startswith("hub:"):
        name, configuration, part = _hub_name(data)
        return dataset_samples(
            name,
            takes=takes,
            n_samples=n_samples,
            n_tokens=n_tokens,
            tokenizer=tokenizer,
            configuration=configuration,
            part=part,
            split=split,
        )
    if data == "zoo":
        data = str(sample_images_path() if isinstance(takes, ImageSettings) else sample_text_path())
    path = named_path(data, "data")
    if not path.exists():
        raise CaptureError(
            f"data must be a path, hub:NAME, zoo or random; there is no {data}. Check the path, or write "
            f"hub:{data} for a data set of the Hugging Face hub."
        )
    is_array = path.suffix in (".npy", ".npz")
    if isinstance(takes, ImageSettings):
        if path.is_file() and not is_array:
            raise CaptureError(
                f"the model takes images; {path.name} is neither a folder nor a .npy or .npz array. "
                "Give a folder of .png or .jpg files."
            )
        return image_samples(path, settings=takes, n_samples=n_samples)
    if path.is_dir():
        raise CaptureError(f"the model takes tokens; {data} is a folder. Give a text file or a .npy array.")
    if is_array:
        return token_id_samples(
            path, takes=takes, tokenizer=tokenizer, n_tokens=n_tokens, n_samples=n_samples
        )
    if tokenizer is None:
        raise CaptureError(
            f"{path.name} is text, and the model came without a tokenizer. Add the tokenizer's files to the "
            "model's folder, or give token ids as .npy."
        )
    return text_samples(path, tokenizer, n_tokens=n_tokens, takes=takes, split=split, n_samples=n_samples)


def _hub_name(data: str) -> tuple[str, str | None, str]:
    match data.removeprefix("hub:").split(":"):
        case [name] if name:
            return name, None, "train"
        case [name, part] if name and part:
            return name, None, part
        case [name, configuration, part] if name and configuration and part:
            return name, configuration, part
    raise CaptureError(
        f"a data set must be hub:NAME, hub:NAME:PART or hub:NAME:CONFIGURATION:PART; found {data}."
        " Write it in one of these ways."
    )
