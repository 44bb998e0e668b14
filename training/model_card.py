"""Model card of a trained network: python training/model_card.py FOLDER [--memory memory.json].

Everything in it is read from what the training wrote beside the weights.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

DATA = {
    "transformer-xl": (
        "WikiText-2 (Merity et al. 2016): Wikipedia articles, CC BY-SA 3.0; complete training articles in "
        "shuffled order. Byte-level BPE of {vocab_size} entries made from the training part."
    ),
    "vision-transformer": (
        "CIFAR-10 (Krizhevsky 2009), no licence stated; 50,000 training images of 32 x 32 after JPEG "
        "compression at quality 95, stretched to {image_size} x {image_size}."
    ),
}
SCRIPTS = {
    "transformer-xl": "train_transformer_xl.py",
    "vision-transformer": "train_vision_transformer.py",
}


def model_card(folder: Path, memory: Path | None) -> str:
    """The card as Markdown."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    training = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    settings = training["settings"]
    kind = config["kind"]
    hidden = ("seed", "device", "compile", "look_every", "minutes", "epochs", "size")
    shown = ", ".join(f"{name} {value}" for name, value in sorted(settings.items()) if name not in hidden)
    last = training["history"][-1]
    machine = "a GPU" if settings["device"].startswith("cuda") else "a CPU"
    lines = [
        f"# {kind}, {config['n_layers']} x {config['n_heads']} heads, width {config['width']}",
        "",
        f"{training['n_parameters']:,} parameters, stored as float16.",
        "",
        "| | |",
        "|---|---|",
        "| Licence | BSD-3-Clause (the weights); the data are under their own terms |",
        f"| Data | {DATA[kind].format(**config)} {training['data']} |",
        f"| Seed | {settings['seed']} |",
        f"| Settings | {shown} |",
        f"| Made with | `training/{SCRIPTS[kind]} --size {settings['size']}`, {last['epoch']} epochs, torch "
        f"{training['torch']} on {machine} in {last['seconds']:.0f} s |",
        f"| Quality | {quality(training['quality'])} |",
        "",
        "Quality is measured on the half-precision weights as stored.",
        "",
    ]
    if memory is not None:
        lines += memory_table(json.loads(memory.read_text(encoding="utf-8")))
    lines += ["## Loss curve", "", *loss_curve(training["history"]), ""]
    lines.append("The whole curve, an epoch a line, is in `training.json`.")
    return "\n".join(lines) + "\n"


def quality(measured: dict[str, Any]) -> str:
    """Quality on the test part, in words."""
    test = measured["test"]
    if "accuracy" in test:
        right = f"{100 * test['accuracy']:.2f} % of {test['n_images']:,} test images right"
        return f"{right}, loss {test['loss']:.3f}"
    return (
        f"test loss {test['loss']:.4f} ± {test['standard_error']:.4f} a token (perplexity "
        f"{test['perplexity']:.2f}), {test['bits_per_byte']:.3f} bits a byte, perplexity "
        f"{test['word_perplexity']:.1f} a word; validation loss {measured['valid']['loss']:.4f}"
    )


def memory_table(found: dict[str, Any]) -> list[str]:
    """What the memory is worth."""
    pair = found["without minus with"]
    rows = [
        f"| {name} | {part['loss']:.4f} ± {part['standard_error']:.4f} | {part['perplexity']:.2f} |"
        for name, part in found.items()
        if "loss" in part
    ]
    return [
        "## Is the memory worth it?",
        "",
        "The same network trained in the same way without memory, on the same test segments of 256 tokens:",
        "",
        "| network | test loss | perplexity |",
        "|---|---|---|",
        *rows,
        "",
        f"Difference {pair['difference']:.4f} ± {pair['standard_error']:.4f} in loss; the network with "
        f"memory is better on {100 * pair['share_of_segments_better']:.0f} % of the segments "
        "(`training/compare_memory.py`).",
        "",
    ]


def loss_curve(history: list[dict[str, Any]]) -> list[str]:
    """Some epochs of the history as a table."""
    columns = [
        name
        for name in ("epoch", "train_loss", "valid_loss", "test_accuracy")
        if any(name in e for e in history)
    ]
    step = max(1, len(history) // 10)
    chosen = [e for e in history if e["epoch"] == 1 or e["epoch"] % step == 0 or e is history[-1]]
    header = [column.replace("_", " ") for column in columns]
    rows = [" | ".join(str(entry.get(column, "")) for column in columns) for entry in chosen]
    return [f"| {' | '.join(header)} |", "|" + "---|" * len(columns), *(f"| {row} |" for row in rows)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--memory", type=Path, help="what compare_memory.py wrote")
    options = parser.parse_args()
    (options.folder / "MODEL_CARD.md").write_text(
        model_card(options.folder, options.memory), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
