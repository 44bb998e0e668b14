"""The inputs that a Hugging Face model takes: tokens, images, or the spectrogram of speech."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from haarbor.capturing.inputs._image_settings import ImageSettings, preprocessed_settings
from haarbor.capturing.inputs._token_inputs import DecoderInputs, TokenInputs
from haarbor.errors import CaptureError

__all__ = ["AudioInputs", "ModelInputs", "model_inputs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioInputs:
    """Spectrograms that a model such as Whisper takes."""

    n_mels: int
    n_frames: int
    n_positions: int
    """Tokens of the encoder, one for every few frames."""
    decoder: DecoderInputs | None
    """None where the model is an encoder alone."""


ModelInputs = TokenInputs | ImageSettings | AudioInputs


def model_inputs(model: Any, preprocessor: Mapping[str, Any] | None = None) -> ModelInputs:
    """What a Hugging Face model takes.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    preprocessor : mapping, optional
        Content of ``preprocessor_config.json``, for a model that takes images.

    Returns
    -------
    TokenInputs, ImageSettings or AudioInputs

    Raises
    ------
    CaptureError
        If the model takes something else.
    """
    config = model.config
    main = model.main_input_name
    if main == "input_ids":
        return TokenInputs(
            vocab_size=_vocab_size(model),
            max_tokens=_max_tokens(model),
            reserved_ids=_reserved_ids(config),
            decoder=_decoder(model) if getattr(config, "is_encoder_decoder", False) else None,
        )
    if main == "pixel_values" and not getattr(config, "is_encoder_decoder", False):
        return preprocessed_settings(config, preprocessor, model)
    n_positions = getattr(config, "max_source_positions", None)
    n_mels = getattr(config, "num_mel_bins", None)
    if main == "input_features" and n_positions is not None and n_mels is not None:
        has_decoder = getattr(config, "is_encoder_decoder", False) and hasattr(model, "get_decoder")
        stride = 1
        for name, layer in model.named_modules():
            if isinstance(layer, torch.nn.Conv1d) and name.rsplit(".", 1)[-1] in ("conv1", "conv2"):
                stride *= layer.stride[0]
        return AudioInputs(
            n_mels=int(n_mels),
            n_frames=stride * int(n_positions),
            n_positions=int(n_positions),
            decoder=_decoder(model) if has_decoder and model.get_decoder() is not model else None,
        )
    raise CaptureError(
        f"{type(model).__name__} takes {main}, for which Haarbor makes no inputs. Make batches of your own "
        "and pass them to haarbor.capturing."
    )


def _text_config(config: Any) -> Any:
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _vocab_size(model: Any) -> int:
    for config in (model.config, _text_config(model.config)):
        size = getattr(config, "vocab_size", None)
        if isinstance(size, int):
            return size
    raise CaptureError(
        f"{type(model).__name__} reads tokens, and its configuration has no vocab_size. Make batches of "
        "your own and pass them to haarbor.capturing."
    )


def _max_tokens(model: Any) -> int | None:
    limit = None
    for config in (model.config, _text_config(model.config)):
        limit = limit or getattr(config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit < 1:
        return None
    for name, layer in model.named_modules():
        # RoBERTa and related models number positions from padding_idx + 1 on.
        if (
            name.endswith("position_embeddings")
            and isinstance(layer, torch.nn.Embedding)
            and layer.padding_idx is not None
        ):
            return min(limit, layer.num_embeddings) - layer.padding_idx - 1
    return limit


def _reserved_ids(config: Any) -> frozenset[int]:
    ids: set[int] = set()
    for part in (config, _text_config(config)):
        for name, value in part.to_dict().items():
            if name.endswith(("_token_id", "_token_index")):
                ids.update(item for item in (value if isinstance(value, list) else [value]) if _is_id(item))
    return frozenset(ids)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _decoder(model: Any) -> DecoderInputs:
    sources = (model.config, getattr(model, "generation_config", None))
    names = ("decoder_start_token_id", "bos_token_id", "pad_token_id")
    start = next(
        (value for name in names for part in sources if _is_id(value := getattr(part, name, None))), None
    )
    if start is None:
        raise CaptureError(
            f"{type(model).__name__} has a decoder, and its configuration does not say with which token it "
            "starts. Set decoder_start_token_id in config.json."
        )
    limit = getattr(model.config, "max_target_positions", None)
    return DecoderInputs(
        start_id=start,
        vocab_size=_vocab_size(model),
        max_tokens=int(limit) if limit is not None else _max_tokens(model),
        reserved_ids=_reserved_ids(model.config),
    )
