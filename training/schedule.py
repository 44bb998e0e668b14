"""Learning rate over the steps of a training."""

from __future__ import annotations

import math


def warmup_cosine(step: int, n_steps: int, n_warmup: int, least: float = 0.0) -> float:
    """Share of the peak rate: linear up to `n_warmup`, then half a cosine down to `least`."""
    if step < n_warmup:
        return (step + 1) / n_warmup
    done = (step - n_warmup) / max(1, n_steps - n_warmup)
    return least + (1 - least) * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def weight_decay_groups(model, weight_decay: float) -> list[dict]:
    """Parameters that are matrices decay; biases, norms and positions do not."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.dim() == 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() != 2], "weight_decay": 0.0},
    ]
