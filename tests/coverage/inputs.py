"""One sample of every kind of input that the models of the table take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["INPUTS", "N_PADDED", "N_TEXT"]

N_TEXT = 12
"""Tokens of text, padding included."""
N_PADDED = 3
"""Tokens of padding at the end, where there is any."""
N_TARGET = 9
IMAGE_TOKEN = 95


def _ids(n_tokens: int, seed: int = 3) -> torch.Tensor:
    return torch.randint(4, 90, (1, n_tokens), generator=torch.Generator().manual_seed(seed))


def _noise(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(5))


def _text() -> dict[str, Any]:
    return {"input_ids": _ids(N_TEXT)}


def _padded() -> dict[str, Any]:
    mask = torch.ones(1, N_TEXT, dtype=torch.long)
    mask[:, -N_PADDED:] = 0
    return {"input_ids": _ids(N_TEXT), "attention_mask": mask}


def _pair() -> dict[str, Any]:
    return {**_padded(), "decoder_input_ids": _ids(N_TARGET, 4)}


def _pair_without_padding() -> dict[str, Any]:
    return {**_text(), "decoder_input_ids": _ids(N_TARGET, 4)}


def _image() -> dict[str, Any]:
    return {"pixel_values": _noise(1, 3, 16, 16)}


def _large_image() -> dict[str, Any]:
    return {"pixel_values": _noise(1, 3, 32, 32)}


def _image_and_text() -> dict[str, Any]:
    return {**_text(), **_image()}


def _image_in_text() -> dict[str, Any]:
    """Sixteen tokens of the image and one of text: as many as the image has patches with its class token."""
    ids = torch.full((1, 17), IMAGE_TOKEN)
    ids[:, -1] = 5
    return {"input_ids": ids, **_image()}


def _patches_in_text() -> dict[str, Any]:
    """Sixteen patches over two frames, which the model joins by fours."""
    ids = _ids(N_TEXT)
    ids[0, 2:8] = torch.tensor([94, *[IMAGE_TOKEN] * 4, 93])
    return {"input_ids": ids, "pixel_values": _noise(16, 3 * 2 * 4 * 4),
            "image_grid_thw": torch.tensor([[1, 4, 4]]),
            "mm_token_type_ids": (ids == IMAGE_TOKEN).long()}  # fmt: skip


def _image_and_target() -> dict[str, Any]:
    return {**_image(), "decoder_input_ids": _ids(N_TARGET)}


def _long_waveform_pair() -> dict[str, Any]:
    return {"input_values": _noise(1, 4000), "decoder_input_ids": _ids(N_TARGET)}


def _spectrogram() -> dict[str, Any]:
    return {"input_values": _noise(1, 16, 8)}


def _long_text() -> dict[str, Any]:
    return {"input_ids": _ids(64)}


def _video() -> dict[str, Any]:
    return {"pixel_values": _noise(1, 4, 3, 16, 16)}


def _regions_and_text() -> dict[str, Any]:
    return {**_text(), "visual_feats": _noise(1, 7, 16), "visual_pos": _noise(1, 7, 4)}


def _tiles_and_text() -> dict[str, Any]:
    """One picture of one tile, which every token of the text may see."""
    return {
        **_text(),
        "pixel_values": _noise(1, 1, 1, 3, 16, 16),
        "aspect_ratio_ids": torch.ones(1, 1, dtype=torch.long),
        "aspect_ratio_mask": torch.ones(1, 1, 1, dtype=torch.long),
        "cross_attention_mask": torch.ones(1, N_TEXT, 1, 1, dtype=torch.long),
    }


def _vectors() -> dict[str, Any]:
    return {"inputs": _noise(1, 10, 16)}


def _waveform() -> dict[str, Any]:
    return {"input_values": _noise(1, 400)}


def _spectrum() -> dict[str, Any]:
    return {"input_features": _noise(1, 40, 8)}


def _spectrum_pair() -> dict[str, Any]:
    return {"input_features": _noise(1, 8, 40), "decoder_input_ids": _ids(N_TARGET)}


def _speech_pair() -> dict[str, Any]:
    return {"input_features": _noise(1, 40, 8), "decoder_input_ids": _ids(N_TARGET)}


INPUTS: dict[str, Callable[[], dict[str, Any]]] = {
    "text": _text,
    "padded": _padded,
    "pair": _pair,
    "pair without padding": _pair_without_padding,
    "image": _image,
    "large image": _large_image,
    "image and text": _image_and_text,
    "image in text": _image_in_text,
    "patches in text": _patches_in_text,
    "image and target": _image_and_target,
    "long text": _long_text,
    "video": _video,
    "regions and text": _regions_and_text,
    "tiles and text": _tiles_and_text,
    "vectors": _vectors,
    "waveform": _waveform,
    "long waveform and text": _long_waveform_pair,
    "spectrogram": _spectrogram,
    "spectrum": _spectrum,
    "spectrum and text": _spectrum_pair,
    "frames and text": _speech_pair,
}
