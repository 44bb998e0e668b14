"""Which heads can go, measured: scores against each other on trained networks.

    python benchmarks/pruning.py smollm2 NETWORKS WIKITEXT    a decoder, loss on test text
    python benchmarks/pruning.py minilm NETWORKS WIKITEXT     an encoder, finding the sentence that follows
    python benchmarks/pruning.py transformer-xl               the embedded networks, on their own samples
    python benchmarks/pruning.py vision-transformer

NETWORKS is the folder that tests/real/fetch_networks.py fills; WIKITEXT holds {train,valid,test}.txt.xz.
"""

import lzma
import os
import sys
import time
import warnings
from pathlib import Path

import torch
from machine import machine_line

from haarbor.capturing import load_model
from haarbor.capturing.inputs import image_samples, named_samples
from haarbor.pruning import (
    Metric,
    calibration_pass,
    compensate,
    damage_curves,
    model_batches,
    pruning_scores,
    recommendation,
    require_disjoint,
)
from haarbor.pruning.metrics import METRICS
from haarbor.pruning.model_batches import forward
from haarbor.zoo import sample_images

SHARES = (0.1, 0.2, 0.3, 0.4)
FEW = (
    "leftover", "leftover-balanced", "leftover-layer", "relative-norm", "gradient", "redundancy", "h400",
    "random",
)  # fmt: skip
MANY = (
    "leftover", "leftover-balanced", "leftover-layer", "relative-norm", "relative-norm-mean", "norm",
    "gradient", "taylor", "fisher", "redundancy", "folders", "h400", "h400-high", "h400-normalised",
    "h400-mean-removed", "l1-all-scales", "l1-fine-scales", "attention-entropy",
    "attention-entropy-high", "output-haar", "h400-random-tree", "h400-no-tree", "random",
)  # fmt: skip


def text(folder, part):
    return lzma.open(Path(folder) / f"{part}.txt.xz", "rt", encoding="utf-8").read()


def smollm2(networks, wikitext):
    loaded = load_model(
        Path(networks) / "smollm2", gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf", dtype="float32"
    )
    tokenizer = loaded.tokenizer

    def windows(words, n_windows):
        ids = tokenizer(words[: n_windows * 256 * 8], add_special_tokens=False, verbose=False)["input_ids"]
        tokens = torch.tensor(ids[: n_windows * 256]).view(n_windows, 256)
        return model_batches([{"input_ids": row[None]} for row in tokens])

    lines = [line.strip() for line in text(wikitext, "test").splitlines()]
    return (
        loaded.model,
        windows(text(wikitext, "train"), 16),
        windows("".join(lines), 6),
        METRICS["loss"],
        FEW,
    )


def minilm(networks, wikitext):
    loaded = load_model(Path(networks) / "minilm", dtype="float32")

    def pairs(part, n_batches, size=16):
        firsts, seconds = [], []
        for line in text(wikitext, part).splitlines():
            sentences = [s.strip() for s in line.split(" . ") if len(s.split()) > 6]
            if len(sentences) > 1 and not line.startswith(" ="):
                firsts.append(sentences[0])
                seconds.append(sentences[1])
        made = []
        for number in range(n_batches):
            # Every so-manieth pair, so that the sentences of a batch are of different articles.
            chosen = slice(number, n_batches * size, n_batches)
            both = [*firsts[chosen], *seconds[chosen]]
            options = {"padding": "max_length", "truncation": True, "max_length": 64, "return_tensors": "pt"}
            inputs = loaded.tokenizer(both, **options)
            made.append({"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]})
        return model_batches(made)

    def adjacent(model, batch):
        """Loss of picking, among 16 sentences, the one that follows (cosine similarity, temperature 0.05)."""
        hidden = forward(model, batch).last_hidden_state
        mask = batch.valid[..., None].to(hidden.dtype)
        means = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
        half = len(batch) // 2
        scores = means[:half] @ means[half:].T / 0.05
        return torch.nn.functional.cross_entropy(scores, torch.arange(half), reduction="sum"), half

    return (
        loaded.model,
        pairs("train", 16),
        pairs("test", 16),
        Metric("adjacent-sentence-loss", adjacent),
        FEW,
    )


def transformer_xl():
    loaded = load_model("zoo:transformer-xl")
    options = {"takes": loaded.takes, "tokenizer": loaded.tokenizer, "n_tokens": 256}
    batches = model_batches(named_samples("zoo", n_samples=32, **options))
    return loaded.model, batches[:16], batches[16:], METRICS["loss"], MANY


def vision_transformer():
    loaded = load_model("zoo:vision-transformer")
    labelled = sample_images()
    pixels = [
        sample.inputs["pixel_values"] for sample in image_samples(labelled.images, settings=loaded.takes)
    ]
    classes = torch.as_tensor(labelled.labels.copy())

    def batches(begin, end, size):
        return model_batches(
            [
                {"pixel_values": torch.cat(pixels[i : i + size]), "labels": classes[i : i + size]}
                for i in range(begin, end, size)
            ]
        )

    return loaded.model, batches(0, 60, 1), batches(60, 300, 20), METRICS["classification-loss"], FEW


NETWORKS = {
    "smollm2": smollm2,
    "minilm": minilm,
    "transformer-xl": transformer_xl,
    "vision-transformer": vision_transformer,
}


def seconds(work):
    begin = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begin


def shown(name, model, calibration, evaluation, metric, scores):
    require_disjoint(calibration, evaluation)
    found, taken = seconds(
        lambda: calibration_pass(model, calibration, parts={"attention", "gradients"}, metric=metric)
    )
    values, more = seconds(lambda: pruning_scores(found, [score for score in scores if score != "random"]))
    print(f"{name}: {found}; pass {taken:.1f} s, scores {more:.1f} s", flush=True)
    removed = values["leftover"].argsort().argsort() < 0.3 * found.sites.n_heads
    _, taken = seconds(lambda: compensate(model, found.sites, removed, None, moments=found.moments))
    print(f"  compensation from the moments of the pass: {taken:.2f} s", flush=True)
    for replacement in ("refit", "zero"):
        curves, taken = seconds(
            lambda replacement=replacement: damage_curves(
                model, found, evaluation, scores, shares=SHARES, metric=metric, replacement=replacement
            )
        )
        base, reliability = curves.baseline.value, curves.reliability
        print(f"  {replacement}: base {base:.4f}, reliability {reliability:.2f}, {taken:.0f} s")
        for score in curves.curves:
            row = zip(curves.value(score), curves.standard_error(score), strict=True)
            print(
                f"    {score:24s}" + "  ".join(f"{value:.3f} ±{error:.3f}" for value, error in row),
                flush=True,
            )
        for share in SHARES:
            print("    " + recommendation(curves, share).sentence, flush=True)


def main():
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
    name, *places = sys.argv[1:]
    print(machine_line() + f", torch {torch.__version__}")
    shown(name, *NETWORKS[name](*places))


if __name__ == "__main__":
    main()
