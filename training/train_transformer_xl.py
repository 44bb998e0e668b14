"""Train a Transformer-XL on text.

    python training/train_transformer_xl.py --data FOLDER --out FOLDER [--size paper] [--memory 0]
                                            [--checkpoints 12]

FOLDER of the data holds train.txt, valid.txt and test.txt, plain or compressed with xz. The weights kept
are those of the epoch with the lowest validation loss. With --checkpoints the network is kept on the way,
too, in FOLDER/step-000000 and so on.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

import torch
from checkpoints import Checkpoints, checkpoint_steps
from precision import precision
from schedule import warmup_cosine, weight_decay_groups
from segment_losses import segment_losses, summary
from text_data import find_part, read_text, segments, streams, token_ids
from tokenizers import Tokenizer
from torch.nn import functional

from haarbor.zoo import TransformerXL, TransformerXLConfig, load_checkpoint, save_checkpoint

SIZES = {
    # Inside the package: 6 x 8 heads, under 8 MB in half precision.
    "small": {"width": 192, "n_layers": 6, "n_heads": 8, "head_width": 24, "inner_width": 768},
    # As in arXiv 2506.15541: 16 x 8 heads, width 410.
    "paper": {"width": 410, "n_layers": 16, "n_heads": 8, "head_width": 48, "inner_width": 1640},
    # As small, and narrower: twelve checkpoints of it are 35 MB.
    "film": {"width": 112, "n_layers": 6, "n_heads": 8, "head_width": 14, "inner_width": 448},
    # For a trial on a laptop.
    "tiny": {"width": 32, "n_layers": 2, "n_heads": 2, "head_width": 16, "inner_width": 64},
}


def main() -> None:
    options = arguments()
    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    device = options.device
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    ids = {
        part: token_ids(read_text(find_part(options.data, part)), tokenizer)
        for part in ("train", "valid", "test")
    }
    rows = streams(ids["train"], options.streams, device)
    config = TransformerXLConfig(
        vocab_size=tokenizer.get_vocab_size(),
        memory_length=options.memory,
        dropout=options.dropout,
        **SIZES[options.size],
    )
    model = TransformerXL(config).to(device)
    n_parameters = sum(weight.numel() for weight in model.parameters())
    print(f"{n_parameters} parameters, {ids['train'].size} training tokens, {device}")
    optimizer = torch.optim.AdamW(
        weight_decay_groups(model, options.weight_decay), lr=options.rate, betas=(0.9, 0.98),
        fused=device.startswith("cuda"),
    )  # fmt: skip
    compiled = torch.compile(model) if options.compile else model
    n_steps = options.epochs * ((rows.shape[1] - options.tokens) // options.tokens)
    kept = Checkpoints(
        options.out, checkpoint_steps(n_steps, options.checkpoints), {"n_steps": n_steps}, options.tokenizer
    )
    kept.after(0, model)
    rng = torch.Generator().manual_seed(options.seed)
    history, best, step, began = [], float("inf"), 0, time.perf_counter()
    for epoch in range(options.epochs):
        model.train()
        total, count, memory = torch.zeros((), device=device), 0, None
        # Each epoch cuts the text at other places.
        offset = int(torch.randint(options.tokens, (), generator=rng))
        for inputs, targets in segments(rows, options.tokens, offset):
            share = warmup_cosine(step, n_steps, options.warmup, least=0.02)
            for group in optimizer.param_groups:
                group["lr"] = options.rate * share
            with precision(device):
                output = compiled(inputs, memory)
                loss = functional.cross_entropy(output.logits.flatten(0, 1).float(), targets.flatten())
            memory = output.memory if options.memory else None
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total, count, step = total + loss.detach(), count + 1, step + 1
            kept.after(step, model)
        losses = segment_losses(model, ids["valid"], options.tokens, device=device)
        entry = {
            "epoch": epoch + 1,
            "train_loss": round(float(total) / count, 4),
            "valid_loss": round(float(losses.mean()), 4),
            "seconds": round(time.perf_counter() - began, 1),
        }
        history.append(entry)
        print(entry, flush=True)
        if entry["valid_loss"] < best:
            best = entry["valid_loss"]
            save_checkpoint(options.out, model, {"history": history})
            shutil.copyfile(options.tokenizer, options.out / "tokenizer.json")
    finish(options, ids, history, n_parameters)


def finish(options: argparse.Namespace, ids: dict, history: list, n_parameters: int) -> None:
    """Measure what was saved, in half precision as it is shipped, and write it beside the weights."""
    model = load_checkpoint(options.out).to(options.device)
    text = read_text(find_part(options.data, "test"))
    quality = {
        part: summary(segment_losses(model, ids[part], options.tokens, device=options.device))
        for part in ("valid", "test")
    }
    n_words = len(text.split()) + text.count("\n")
    total = quality["test"]["loss"] * len(ids["test"])
    quality["test"]["bits_per_byte"] = total / 0.6931471805599453 / len(text.encode())
    quality["test"]["word_perplexity"] = float(torch.tensor(total / n_words).exp())
    training = {
        "data": f"{options.data.name}: {ids['train'].size} training tokens",
        "settings": {
            name: str(value) if isinstance(value, Path) else value
            for name, value in vars(options).items()
            if name not in ("data", "out", "tokenizer")
        },
        "n_parameters": n_parameters,
        "torch": torch.__version__,
        "quality": quality,
        "history": history,
    }
    save_checkpoint(options.out, model, training)
    print(quality)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--memory", type=int, default=256, help="tokens remembered; 0 for no memory")
    parser.add_argument("--tokens", type=int, default=256, help="tokens a segment")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--checkpoints", type=int, default=0, help="networks kept on the way; none if 0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
