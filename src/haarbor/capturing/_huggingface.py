"""Which models are of Hugging Face's transformers."""

from __future__ import annotations

import torch

__all__ = ["has_huggingface", "is_huggingface"]


def is_huggingface(model: torch.nn.Module) -> bool:
    """Whether a model is one of transformers, or of a class made from one."""
    return any(cls.__module__.startswith("transformers.") for cls in type(model).__mro__)


def has_huggingface(model: torch.nn.Module) -> bool:
    """Whether a model is one of transformers, or has one in it, as a wrapper or an adapter does."""
    return any(is_huggingface(module) for module in model.modules())
