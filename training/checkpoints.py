"""Checkpoints on the way, at steps on a logarithmic scale."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from haarbor.zoo import ZooNetwork, save_checkpoint


def checkpoint_steps(n_steps: int, n_checkpoints: int) -> list[int]:
    """Steps after which the network is kept: 0, then the same factor from each to the next, up to the last.

    Where that would name a step twice, early in a short training, there are fewer.
    """
    if n_checkpoints < 2:
        return []
    steps = np.rint(np.geomspace(1, max(1, n_steps), n_checkpoints - 1)).astype(int)
    return sorted({0, *steps.tolist()})


class Checkpoints:
    """Keeps a network in half precision in FOLDER/step-000000 and so on, each a network by itself."""

    def __init__(
        self, folder: Path, steps: list[int], training: Mapping[str, Any], tokenizer: Path | None = None
    ) -> None:
        self.folder, self.steps, self.training, self.tokenizer = folder, set(steps), training, tokenizer

    def after(self, step: int, model: ZooNetwork) -> None:
        """Keep the network if `step` is one of the steps."""
        if step in self.steps:
            place = self.folder / f"step-{step:06d}"
            save_checkpoint(place, model, {**self.training, "step": step})
            if self.tokenizer is not None:
                shutil.copyfile(self.tokenizer, place / "tokenizer.json")
