"""How much faster and smaller networks are without some of their heads: time and memory, measured.

    python benchmarks/pruned_speed.py                      on the processor, and on a GPU where there is one
    python benchmarks/pruned_speed.py --device cuda --out speed.json

Networks of the sizes of SmolLM2-135M (30 layers of 9 heads, groups of three), of ViT-B/16 (12 x 12), and of
a Llama of 1.1 B parameters (22 x 32, on a GPU alone), with any weights: speed does not depend on them, and
nothing is downloaded. Heads go at random over the whole network, so that layers are left with different
numbers of heads, and beside it the same number from every layer ("uniform"). For each share: median
milliseconds of a forward pass and of a generated token, with a cache; peak memory. On a GPU all work is
waited for before a clock is read. The whole network is measured first and last: how far these two differ
is what the machine does by itself.

It needs torch, transformers, safetensors, numpy, scipy and numba, and no zarr; this folder's src must be on
PYTHONPATH where Haarbor is not installed. It takes less than four minutes on 16 cores and an H200.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import gc
import json
import platform
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
MEGABYTE = 1e6


def smollm2(device: str) -> tuple[torch.nn.Module, dict[str, torch.Tensor], torch.Tensor | None]:
    """A language model, its input for a forward pass, and a prompt."""
    return _llama(device, 30, 576, 1536, 9, 3, 49152)


def llama_1b(device: str) -> tuple[torch.nn.Module, dict[str, torch.Tensor], torch.Tensor | None]:
    """The same with 22 layers of 32 heads, in groups of eight."""
    return _llama(device, 22, 2048, 5632, 32, 4, 32000)


def _llama(
    device: str, n_layers: int, width: int, inner: int, n_heads: int, n_shared: int, vocabulary: int
) -> tuple[torch.nn.Module, dict[str, torch.Tensor], torch.Tensor | None]:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=width, intermediate_size=inner, num_hidden_layers=n_layers,
        num_attention_heads=n_heads, num_key_value_heads=n_shared, max_position_embeddings=4096,
        tie_word_embeddings=True,
    )  # fmt: skip
    config._attn_implementation = "sdpa"
    rows, length = (8, 1024) if device == "cuda" else (1, 256)
    tokens = torch.randint(3, vocabulary, (rows, length))
    return LlamaForCausalLM(config).eval(), {"input_ids": tokens}, tokens[:1, :64]


def vit(device: str) -> tuple[torch.nn.Module, dict[str, torch.Tensor], torch.Tensor | None]:
    """A classifier of images of 224 x 224, in patches of 16 x 16."""
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(num_labels=1000)
    config._attn_implementation = "sdpa"
    images = torch.randn(64 if device == "cuda" else 4, 3, 224, 224)
    return ViTForImageClassification(config).eval(), {"pixel_values": images}, None


NETWORKS: dict[str, Callable[..., Any]] = {
    "smollm2-135m": smollm2,
    "vit-b": vit,
    "llama-1.1b": llama_1b,
}
ON_GPU_ALONE = ("llama-1.1b",)


def without_heads(model: torch.nn.Module, inputs: dict[str, torch.Tensor], share: float, within: str) -> Any:
    """The network without a share of its heads, and how many it has lost."""
    from haarbor.pruning import model_batches, network_heads, prune_heads, removal

    small = {name: value[:1, :16] if value.dim() == 2 else value[:1] for name, value in inputs.items()}
    (batch,) = model_batches(small)
    heads = network_heads(model, batch)
    scores = np.random.default_rng(0).permutation(heads.n_heads).astype(np.float64)
    removed = removal(scores, heads, share, within=within)  # type: ignore[arg-type]
    return prune_heads(model, heads, removed, batch=batch), int(removed.sum()), heads.n_heads


def measured(
    model: torch.nn.Module,
    inputs: dict[str, torch.Tensor],
    prompt: torch.Tensor | None,
    device: str,
    n_runs: int,
    n_generated: int,
) -> dict[str, float | None]:
    """Milliseconds and megabytes of one network."""
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    model.to(device, dtype)
    moved = {
        name: value.to(device, dtype if value.is_floating_point() else None) for name, value in inputs.items()
    }
    gc.collect()
    _reset_peak(device)
    with torch.no_grad():
        forward = _median(lambda: model(**moved), device, n_runs)
        token = None
        if prompt is not None:
            start = prompt.to(device)

            def generate(n_tokens: int) -> None:
                untyped: Any = model
                untyped.generate(
                    start, max_new_tokens=n_tokens, min_new_tokens=n_tokens, do_sample=False, pad_token_id=0
                )

            few = _median(lambda: generate(1), device, 3)
            many = _median(lambda: generate(1 + n_generated), device, 3)
            token = (many - few) / n_generated
    return {
        "parameters": float(sum(weight.numel() for weight in model.parameters())),
        "forward_ms": 1000 * forward,
        "token_ms": None if token is None else 1000 * token,
        "peak_mb": _peak(device),
    }


def _median(work: Callable[[], Any], device: str, n_runs: int) -> float:
    taken = []
    for run in range(n_runs + 2):
        _finish(device)
        begin = time.perf_counter()
        work()
        _finish(device)
        if run >= 2:
            taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def _finish(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _reset_peak(device: str) -> None:
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        return
    # What was freed goes back to the system, and the mark of the most memory used is set anew (Linux).
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak(device: str) -> float | None:
    """Most memory in use since the mark was set: of the device, or of the whole process."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / MEGABYTE
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / MEGABYTE
    return None


def study(name: str, device: str, shares: tuple[float, ...], n_runs: int, n_generated: int) -> list[Any]:
    """Rows of one network on one device."""
    rows = []
    asked = [(0.0, "whole"), *((share, kind) for kind in ("network", "uniform") for share in shares)]
    seen: set[tuple[str, int]] = set()
    # On a GPU the whole network waits in the memory of the machine, which is not counted.
    waiting = _made(name, device) if device == "cuda" else None
    for share, kind in [*asked, (0.0, "whole again")]:
        model, inputs, prompt = waiting or _made(name, device)
        n_removed, n_heads = 0, 0
        if share:
            try:
                model, n_removed, n_heads = without_heads(model, inputs, share, kind)
            # Groups of three lose a third of their heads or none: not every share can be had alike.
            except Exception as error:
                if type(error).__name__ != "SettingError":
                    raise
                continue
            if (kind, n_removed) in seen:
                continue
            seen.add((kind, n_removed))
        elif waiting is not None:
            model = copy.deepcopy(model)
        row = {
            "network": name, "device": device, "removal": kind, "asked": share, "removed": n_removed,
            "heads": n_heads, **measured(model, inputs, prompt, device, n_runs, n_generated),
        }  # fmt: skip
        rows.append(row)
        print(told(row), flush=True)
        del model
        gc.collect()
    return rows


def _made(name: str, device: str) -> Any:
    torch.manual_seed(0)
    return NETWORKS[name](device)


def told(row: dict[str, Any]) -> str:
    """A row of the table."""
    token = "-" if row["token_ms"] is None else f"{row['token_ms']:.2f}"
    peak = "-" if row["peak_mb"] is None else f"{row['peak_mb']:.0f}"
    share = f"{100 * row['removed'] / row['heads']:.0f} %" if row["heads"] else "0 %"
    return (
        f"| {row['network']} | {row['device']} | {row['removal']} | {share} | {row['parameters'] / 1e6:.1f} "
        f"| {row['forward_ms']:.2f} | {token} | {peak} |"
    )


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda", "both"], default="both")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--generated", type=int, default=32, help="tokens generated per timing")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    devices = {"both": ["cpu", "cuda"]}.get(options.device, [options.device])
    if not torch.cuda.is_available():
        devices = [device for device in devices if device != "cuda"]
    shares = tuple(float(share) for share in options.shares.split(","))
    machine = f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads"
    if "cuda" in devices:
        machine += f", {torch.cuda.get_device_name()} (bfloat16 there)"
    print(f"torch {torch.__version__}, {machine}")
    print("| network | device | removal | heads gone | M parameters | ms forward | ms token | peak MB |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    begin = time.perf_counter()
    for device in devices:
        for name in options.networks.split(","):
            if device == "cpu" and name in ON_GPU_ALONE:
                continue
            rows += study(name, device, shares, options.runs if device == "cuda" else 5, options.generated)
    print(f"{time.perf_counter() - begin:.0f} s in all")
    if options.out is not None:
        content = {"machine": machine, "torch": torch.__version__, "rows": rows}
        options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
