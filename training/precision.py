"""Number format of a training step."""

from __future__ import annotations

import contextlib

import torch


def precision(device: str) -> contextlib.AbstractContextManager:
    """Half precision with a wide range where the device has it."""
    if device.startswith("cuda"):
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return contextlib.nullcontext()
