"""One row of the table: a type of model, made small, and what is to become of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import torch
import transformers

from tests.coverage.inputs import INPUTS
from tests.coverage.sharpening import sharpened

__all__ = ["SELF", "ModelType", "Stream"]


@dataclass(frozen=True)
class Stream:
    """What a stream is to hold: so many layers, and those whose names fit the pattern."""

    n_layers: int
    layers: str = "*"
    shape: tuple[int, int, int] | None = None
    """Heads, queries and keys, where the names do not tell it from another stream."""

    def holds(self, name: str, shape: tuple[int, int, int]) -> bool:
        """Whether attention of this shape in a module of this name belongs here."""
        return fnmatchcase(name, self.layers) and self.shape in (None, shape)


SELF = {"self": Stream(2)}


@dataclass(frozen=True, kw_only=True)
class ModelType:
    """A model class of transformers with a small configuration, and what capturing it is to give."""

    type: str
    model: str
    config: str
    settings: dict[str, Any]
    inputs: str = "text"
    """Key of :data:`tests.coverage.inputs.INPUTS`."""
    streams: dict[str, Stream] = field(default_factory=lambda: SELF)
    """In the order of the run; with `leave_out` and `groups` where the model is refused without them."""
    refused: str = ""
    """Part of what capturing without options says; empty where it is not refused."""
    why: str = ""
    """Reason of the refusal, or what else there is to know, for the page."""
    leave_out: tuple[str, ...] = ()
    groups: str = "refuse"
    transparent: str = ""
    """Part of what capturing with mode="transparent" says; empty where it is not refused."""
    sinks: bool = False
    """Whether the softmax has a last column that is no key."""
    not_attention: tuple[str, ...] = ()
    """Patterns of modules whose softmax is something else, such as a router."""
    fixed: bool = False
    """Whether the model chooses how it computes its attention when it is built, and not when it runs."""
    gives_attentions: bool = True
    """Whether ``output_attentions=True`` gives the weights as they are computed, layer by layer."""
    essential: bool = False
    """Whether it runs with the fast tests."""

    @property
    def modes(self) -> tuple[str, ...]:
        """Modes in which something is recorded."""
        if not self.streams:
            return ()
        return ("faithful",) if self.transparent else ("faithful", "transparent")

    @property
    def options(self) -> dict[str, Any]:
        """What `capture` needs beside the model and its inputs to record it."""
        given: dict[str, Any] = {}
        if self.leave_out:
            given["leave_out"] = list(self.leave_out)
        if self.groups != "refuse":
            given["groups"] = self.groups
        return given

    def build(self, attention: str) -> torch.nn.Module:
        """The model with sharp random weights, the same for every call."""
        torch.manual_seed(1)
        config = getattr(transformers, self.config)(**self.settings)
        model = getattr(transformers, self.model)._from_config(config, attn_implementation=attention)
        return sharpened(model).eval()

    def batch(self) -> dict[str, Any]:
        """One sample of input, the same for every call."""
        return INPUTS[self.inputs]()

    def is_left_out(self, name: str) -> bool:
        """Whether a softmax of this module is not to be recorded."""
        return any(fnmatchcase(name, pattern) for pattern in (*self.leave_out, *self.not_attention))
