"""A small decoder of bytes, four layers of eight heads with MLPs, trained on a text.

    python benchmarks/byte_network.py FOLDER --text TEXT

writes a checkpoint that `haarbor capture FOLDER` reads, in some minutes of processor time.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

TOKENS = 96


def text_bytes(place):
    """Bytes of a text as token ids."""
    return torch.from_numpy(np.frombuffer(Path(place).read_bytes(), dtype=np.uint8).astype(np.int64))


def trained(ids, n_steps=700, rows=16, seed=0, on_step=None):
    """The network after training, in eval mode."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    config = GPT2Config(
        vocab_size=256, n_positions=TOKENS, n_embd=128, n_layer=4, n_head=8, resid_pdrop=0.0, embd_pdrop=0.0,
        attn_pdrop=0.0, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    model = GPT2LMHeadModel(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=n_steps)
    for step in range(n_steps):
        starts = torch.randint(0, ids.numel() - TOKENS, (rows,), generator=generator)
        batch = torch.stack([ids[start : start + TOKENS] for start in starts])
        loss = model(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if on_step is not None and (step % 100 == 0 or step == n_steps - 1):
            on_step(step, float(loss.detach()))
    return model.eval()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--text", type=Path, required=True, help="a text file to train on")
    asked = parser.parse_args()
    network = trained(
        text_bytes(asked.text), on_step=lambda step, loss: print(f"step {step}: loss {loss:.3f}", flush=True)
    )
    network.save_pretrained(asked.folder)
