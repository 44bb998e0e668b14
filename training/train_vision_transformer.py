"""Train a Vision Transformer on small images.

    python training/train_vision_transformer.py --data FOLDER --out FOLDER [--size paper] [--checkpoints 12]

The data are a folder of mosaics or an .npz file (see image_data.py). No epoch is chosen by the test set:
the weights kept are the last. With --checkpoints the network is kept on the way, too, in
FOLDER/step-000000 and so on.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import torch
from augmentation import augmented, mixed, normalised
from checkpoints import Checkpoints, checkpoint_steps
from image_data import labelled_images
from precision import precision
from schedule import warmup_cosine, weight_decay_groups
from torch import Tensor
from torch.nn import functional

from haarbor.zoo import VisionTransformer, VisionTransformerConfig, load_checkpoint, save_checkpoint

SIZES = {
    # Inside the package: 6 x 6 heads, 14 x 14 patches, under 8 MB in half precision.
    "small": {"image_size": 56, "patch_size": 4, "width": 192, "n_layers": 6, "n_heads": 6},
    # ViT-B/16, as in arXiv 2506.15541: 12 x 12 heads, 14 x 14 patches.
    "paper": {"image_size": 224, "patch_size": 16, "width": 768, "n_layers": 12, "n_heads": 12},
    # As small, and narrower: twelve checkpoints of it are 17 MB.
    "film": {"image_size": 56, "patch_size": 4, "width": 96, "n_layers": 6, "n_heads": 6},
    # For a trial on a laptop.
    "tiny": {"image_size": 16, "patch_size": 4, "width": 16, "n_layers": 2, "n_heads": 2},
}


def main() -> None:
    options = arguments()
    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    device = options.device
    images, labels = (
        torch.from_numpy(array.copy()).to(device) for array in labelled_images(options.data, "train")
    )
    test = [torch.from_numpy(array.copy()).to(device) for array in labelled_images(options.data, "test")]
    n_classes = int(labels.max()) + 1
    pixels = images.float() / 255
    mean, std = pixels.mean(dim=(0, 1, 2)).view(1, 3, 1, 1), pixels.std(dim=(0, 1, 2)).view(1, 3, 1, 1)
    del pixels
    sizes = SIZES[options.size]
    config = VisionTransformerConfig(
        n_classes=n_classes, drop_path=options.drop_path, inner_width=4 * sizes["width"], **sizes
    )
    model = VisionTransformer(config).to(device)
    n_parameters = sum(weight.numel() for weight in model.parameters())
    print(f"{n_parameters} parameters, {len(images)} training images, {device}")
    optimizer = torch.optim.AdamW(
        weight_decay_groups(model, options.weight_decay), lr=options.rate, betas=(0.9, 0.99),
        fused=device.startswith("cuda"),
    )  # fmt: skip
    compiled = torch.compile(model) if options.compile else model
    per_epoch = max(1, len(images) // options.batch)
    n_epochs = options.epochs
    statistics = {"mean": mean.flatten().tolist(), "std": std.flatten().tolist()}
    n_steps = n_epochs * per_epoch
    kept = Checkpoints(
        options.out,
        checkpoint_steps(n_steps, options.checkpoints),
        {"n_steps": n_steps, "images": statistics},
    )
    kept.after(0, model)
    rng = torch.Generator(device=device).manual_seed(options.seed)
    history, step, began = [], 0, time.perf_counter()
    for epoch in itertools.count():
        if epoch == 2 and options.minutes:
            # The first epoch also compiles; the second tells how many there is time for.
            pace = history[1]["seconds"] - history[0]["seconds"]
            left = 60 * options.minutes - history[1]["seconds"]
            n_epochs = min(n_epochs, 2 + max(1, int(left / pace)))
        if epoch >= n_epochs:
            break
        model.train()
        total = torch.zeros((), device=device)
        order = torch.randperm(len(images), generator=rng, device=device)
        # Blended images teach well but are never met: the last epochs do without them.
        blend = epoch < 0.85 * n_epochs
        for number in range(per_epoch):
            chosen = order[number * options.batch : (number + 1) * options.batch]
            inputs = augmented(images[chosen], config.image_size, mean, std, rng)
            targets = functional.one_hot(labels[chosen], n_classes).float()
            if blend:
                inputs, targets = mixed(inputs, targets, rng)
            share = warmup_cosine(step, n_epochs * per_epoch, options.warmup * per_epoch, least=0.01)
            for group in optimizer.param_groups:
                group["lr"] = options.rate * share
            with precision(device):
                scores = compiled(inputs)
            loss = functional.cross_entropy(scores.float(), targets, label_smoothing=0.1 if blend else 0.0)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total, step = total + loss.detach(), step + 1
            kept.after(step, model)
        entry = {
            "epoch": epoch + 1,
            "train_loss": round(float(total) / per_epoch, 4),
            "seconds": round(time.perf_counter() - began, 1),
        }
        if (epoch + 1) % options.look_every == 0:
            entry["test_accuracy"] = round(accuracy(model, *test, mean, std)["accuracy"], 4)
        history.append(entry)
        print(entry, flush=True)
    save_checkpoint(options.out, model, {"images": statistics})
    finish(options, test, mean, std, history, n_parameters, len(images), statistics)


def finish(options, test, mean, std, history, n_parameters, n_images, statistics) -> None:
    """Measure what was saved, in half precision as it is shipped, and write it beside the weights."""
    model = load_checkpoint(options.out).to(options.device)
    quality = accuracy(model, *test, mean, std)
    training = {
        "data": f"{options.data.name}: {n_images} training images, {len(test[0])} test images",
        "settings": {
            name: str(value) if isinstance(value, Path) else value
            for name, value in vars(options).items()
            if name not in ("data", "out")
        },
        "n_parameters": n_parameters,
        "torch": torch.__version__,
        "images": statistics,
        "quality": {"test": quality},
        "history": history,
    }
    save_checkpoint(options.out, model, training)
    print(quality)


def accuracy(model: VisionTransformer, images: Tensor, labels: Tensor, mean: Tensor, std: Tensor) -> dict:
    """Accuracy and loss on images that were not trained on."""
    model.eval()
    right, total = 0, 0.0
    with torch.no_grad(), precision(str(images.device)):
        for begin in range(0, len(images), 500):
            part = slice(begin, begin + 500)
            scores = model(normalised(images[part], model.config.image_size, mean, std)).float()
            right += int((scores.argmax(dim=1) == labels[part]).sum())
            total += float(functional.cross_entropy(scores, labels[part], reduction="sum"))
    return {"accuracy": right / len(images), "loss": total / len(images), "n_images": len(images)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--epochs", type=int, default=120)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=5, help="epochs")
    parser.add_argument("--weight-decay", type=float, default=0.05)
    parser.add_argument("--drop-path", type=float, default=0.05)
    parser.add_argument("--look-every", type=int, default=10, help="epochs between looks at the test set")
    parser.add_argument("--minutes", type=float, default=0, help="fewer epochs, to end within so many")
    parser.add_argument("--checkpoints", type=int, default=0, help="networks kept on the way; none if 0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
