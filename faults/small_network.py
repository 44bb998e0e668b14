"""Networks small enough to be run a thousand times, made from a configuration; nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["save_network", "small_gpt2"]


def small_gpt2() -> tuple[Any, list[dict[str, Any]]]:
    """Two layers of two heads in eval mode, always the same weights; and two batches for it."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    config = GPT2Config(
        vocab_size=23, n_embd=8, n_layer=2, n_head=2, n_positions=16, bos_token_id=1, eos_token_id=2
    )
    model = GPT2LMHeadModel(config).eval()
    generator = torch.Generator().manual_seed(3)
    batches = [{"input_ids": torch.randint(3, 23, (1, 6), generator=generator)} for _ in range(2)]
    return model, batches


def save_network(folder: Path, *, n_samples: int = 8, n_tokens: int = 8) -> tuple[Path, Path]:
    """Write the network and token ids for it; the folder of one, the file of the other."""
    model, _ = small_gpt2()
    model.save_pretrained(folder / "network")
    ids = np.random.default_rng(0).integers(3, 23, (n_samples, n_tokens))
    np.save(folder / "ids.npy", ids)
    return folder / "network", folder / "ids.npy"
