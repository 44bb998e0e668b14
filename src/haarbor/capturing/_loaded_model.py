"""A model loaded from a checkpoint, with what is known of its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from haarbor.capturing._model_identity import config_digest
from haarbor.capturing.inputs import ImageSettings, ModelInputs

__all__ = ["LoadedModel"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LoadedModel:
    """A model in eval mode, with what its checkpoint says about its inputs.

    See Also
    --------
    haarbor.load_model : A model by name or folder.
    """

    model: torch.nn.Module
    tokenizer: Any
    """transformers.PreTrainedTokenizerBase; None where the checkpoint has none."""
    takes: ModelInputs | None
    """What the model takes; None where Haarbor makes no such inputs."""
    name: str
    """As the hub or timm has it, or the name of the folder or file; never a path."""
    notes: tuple[str, ...]
    """What the user should know, one line each."""

    @property
    def config_digest(self) -> str:
        """Digest of the model's configuration and weights, all of which are read for it."""
        return config_digest(self.model)

    @property
    def images(self) -> ImageSettings | None:
        """How images are prepared, for a model that takes images."""
        return self.takes if isinstance(self.takes, ImageSettings) else None

    def __repr__(self) -> str:
        return f"LoadedModel({self.name}: {type(self.model).__name__})"
