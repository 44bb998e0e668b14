"""Peak memory and processor time of capture at long contexts, each capture in a process of its own.

The network is a small Llama of random weights: 2 layers of 4 heads. ``python benchmarks/long_context.py``
captures it at 1,024 to 8,192 tokens in both modes, and one of 32,768 tokens with blocks of 64 x 64 tokens.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LAYERS, HEADS, WIDTH = 2, 4, 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1024, 2048, 4096, 8192])
    parser.add_argument("--pooled", type=int, nargs="*", default=[32768], help="tokens of pooled captures")
    parser.add_argument("--pool", type=int, default=64)
    parser.add_argument("--modes", nargs="+", default=["faithful", "transparent"])
    parser.add_argument("--child", nargs=3, metavar=("TOKENS", "MODE", "POOL"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        tokens, mode, pool = given.child
        captured(int(tokens), mode, int(pool))
        return
    print("| tokens | mode | pool | peak MB | over an idle process, MB | processor s |")
    print("|---|---|---|---|---|---|")
    cases = [(tokens, mode, 0) for mode in given.modes for tokens in given.tokens]
    for tokens, mode, pool in [*cases, *((tokens, "transparent", given.pool) for tokens in given.pooled)]:
        command = [sys.executable, __file__, "--child", str(tokens), mode, str(pool)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        print(
            ran.stdout.strip() or f"| {tokens} | {mode} | {pool} | failed: {ran.stderr[-200:]} |", flush=True
        )


def captured(n_tokens: int, mode: str, pool: int) -> None:
    import torch
    from transformers import LlamaConfig, LlamaModel

    from haarbor import capture

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=256,
        hidden_size=HEADS * WIDTH,
        intermediate_size=2 * HEADS * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2,
        max_position_embeddings=65536,
        use_cache=False,
    )
    model = LlamaModel(config).eval()
    with tempfile.TemporaryDirectory() as folder:
        # A short capture first: what it loads is not the memory of attention.
        capture(model, torch.randint(0, 256, (1, 16)), Path(folder) / "short.zarr", mode=mode)
        idle = peak_mb()
        more = {"pool": pool} if pool else {}
        begin = time.process_time()
        capture(model, torch.randint(0, 256, (1, n_tokens)), Path(folder) / "long.zarr", mode=mode, **more)
        seconds = time.process_time() - begin
    print(
        f"| {n_tokens:,} | {mode} | {pool or '-'} | {peak_mb():,.0f} | {peak_mb() - idle:,.0f} "
        f"| {seconds:.1f} |"
    )


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
