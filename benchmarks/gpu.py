"""The GPU engine: sums against torch.cdist, questionnaires from the paper's size to that of a 7B model.

Needs CuPy, torch and a CUDA device, the last two parts transformers too, and the last one zarr. Prints tables
for RESULTS.md. A part that fails says why, and the others go on.

    python benchmarks/gpu.py [sums] [paper] [large] [haar] [model] [capture]
"""

import resource
import statistics
import sys
import tempfile
import time
import traceback
from pathlib import Path

import cupy
import numpy as np
import torch
from attention_tensor import attention_tensor

import haarbor as hb

TOKENS, LAYERS, HEADS = 2048, 32, 32


def seconds(work, repeats=1):
    """Median wall time of calls, the device idle before and after each."""
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def gigabytes(work):
    """Largest memory of the device in use during a call, beyond what was in use before, and its seconds."""
    torch.cuda.empty_cache()
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    torch.cuda.reset_peak_memory_stats()
    at_first = torch.cuda.memory_reserved()
    took = seconds(work)
    # CuPy gives nothing back by itself, so what it holds now is the most that it held.
    peak = torch.cuda.max_memory_reserved() - at_first + pool.total_bytes()
    return peak / 1e9, took


def sums():
    """Sums of absolute differences over pairs of items."""
    device = hb.GpuEngine().device
    print("| items x features | | ms | T differences/s | torch.cdist(p=1), ms | times faster | difference |")
    print("|---|---|---|---|---|---|---|")
    for n_items, n_features, dtype in [
        (1024, 1_000_000, np.float32), (2048, 262_144, np.float32), (512, 100_000, np.float32),
        (256, 82_000, np.float32), (128, 144_000, np.float32), (1024, 500_000, np.float64),
    ]:  # fmt: skip
        took, other, error = sums_beside_cdist(device, n_items, n_features, np.dtype(dtype))
        rate = n_items**2 / 2 * n_features / took / 1e12
        print(
            f"| {n_items} x {n_features:,} | {np.dtype(dtype)} | {1e3 * took:.3f} | {rate:.2f} | "
            f"{1e3 * other:.1f} | {other / took:.1f} | {error:.1e} |",
            flush=True,
        )
        cupy.get_default_memory_pool().free_all_blocks()
        torch.cuda.empty_cache()


def sums_beside_cdist(device, n_items, n_features, dtype):
    """Seconds of the engine and of torch, and the largest relative difference of their sums."""
    features = cupy.random.random((n_features, device.tiles(n_items, dtype).pitch)).astype(dtype)
    features[:, n_items:] = 0
    total = cupy.zeros((n_items, n_items))
    rows = torch.from_dlpack(cupy.ascontiguousarray(features[:, :n_items].T))
    few = rows[:, :1000].contiguous()
    expected = torch.cdist(few, few, p=1)
    device.add_pair_sums(features, n_items, total)

    def theirs():
        nonlocal expected
        expected = torch.cdist(rows, rows, p=1)

    other = seconds(theirs)
    error = float((torch.from_dlpack(total) / expected.double() - 1).nan_to_num().abs().max())
    return seconds(lambda: device.add_pair_sums(features, n_items, total), 9), other, error


def paper():
    """The paper's size, on the host and on the device, against the CPU engine of the same machine."""
    print("| 256 x 256 x 128, three iterations | seconds | trees as on the CPU |")
    print("|---|---|---|")
    for name, given in (("causal", {}), ("bidirectional", {"causal": False}), ("logits", {"logits": True})):
        X = attention_tensor(**given).astype(np.float32)
        on_device = torch.from_numpy(np.ascontiguousarray(X.transpose(2, 0, 1))).cuda().permute(1, 2, 0)
        cpu = hb.organize(X, engine="cpu")
        took = seconds(lambda: hb.organize(X, engine="cpu"), 3)  # noqa: B023
        print(f"| {name}, CPU engine | {took:.3f} | |", flush=True)
        for where, tensor in (("from the host", X), ("a torch tensor on the device", on_device)):
            found = hb.organize(tensor, engine="gpu")
            took = seconds(lambda: hb.organize(tensor, engine="gpu"), 7)  # noqa: B023
            same = all(found.history[axis] == cpu.history[axis] for axis in cpu.axes)
            print(f"| {name}, GPU engine, {where} | {took:.3f} | {'all' if same else 'NO'} |", flush=True)


def device_attention(heads, tokens, causal):
    """Probabilities in half precision on the device, heads first in memory: topics, and a map per head."""
    generator = torch.Generator("cuda").manual_seed(0)
    tensor = torch.empty(heads, tokens, tokens, dtype=torch.float16, device="cuda")
    topic = torch.randint(0, 12, (tokens,), device="cuda", generator=generator)
    centres = torch.randn(12, 64, device="cuda", generator=generator)
    embedding = centres[topic] + 0.5 * torch.randn(tokens, 64, device="cuda", generator=generator)
    later = torch.ones(tokens, tokens, dtype=torch.bool, device="cuda").triu(1)
    for head in range(heads):
        mixing = torch.randn(64, 64, device="cuda", generator=generator) / 8
        score = embedding @ mixing @ embedding.T / 8
        if causal:
            score = score.masked_fill(later, -torch.inf)
        tensor[head] = score.softmax(-1).half()
    return tensor.permute(1, 2, 0)


def large():
    """1,024 heads of 2,048 tokens, generated on the device."""
    print(
        f"| {LAYERS * HEADS} heads x {TOKENS} x {TOKENS}, float16, three iterations | seconds | GB beyond X |"
    )
    print("|---|---|---|")
    for name, causal in (("bidirectional", False), ("causal", True)):
        X = device_attention(LAYERS * HEADS, TOKENS, causal)
        found, peak, took = organized(X)
        sizes = ", ".join(f"{axis} {found.trees[axis].pruned.n_folders}" for axis in found.axes)
        about = f"{name}, engine {found.settings.engine}; folders: {sizes}"
        print(f"| {about} | {took:.2f} | {peak:.1f} |", flush=True)
    for entropy in (hb.head_entropy, hb.network_entropy):
        peak, took = gigabytes(lambda: entropy(X, found.trees))  # noqa: B023
        print(f"| {entropy.__name__} of the causal one | {took:.2f} | {peak:.1f} |", flush=True)


def haar():
    """Haar trees, linked and rotated on the device, against the CPU engine of the same machine."""
    # Compiles what the host does.
    hb.organize(attention_tensor(24, 2, 4).astype(np.float32), tree="haar", engine="cpu")
    print("| Haar trees, until the objective falls no more | CPU, s | GPU, s | GB | the same trees |")
    print("|---|---|---|---|---|")
    for tokens, layers, heads, given in (
        (256, 16, 8, {}), (256, 16, 8, {"causal": False}), (512, 16, 16, {"causal": False}),
    ):  # fmt: skip
        X = attention_tensor(tokens, layers, heads, **given).astype(np.float32)
        begin = time.perf_counter()
        cpu = hb.organize(X, tree="haar", engine="cpu")
        took_cpu = time.perf_counter() - begin
        on_device = torch.from_numpy(np.ascontiguousarray(X.transpose(2, 0, 1))).cuda().permute(1, 2, 0)
        gpu = hb.organize(on_device, tree="haar", engine="gpu")
        peak, took = gigabytes(lambda: hb.organize(on_device, tree="haar", engine="gpu"))  # noqa: B023
        same = ", ".join(
            f"{axis} {'yes' if gpu.trees[axis] == cpu.trees[axis] else 'NO'}"
            f" ({hb.partition_distance(gpu.trees[axis], cpu.trees[axis]):.3f})"
            for axis in cpu.axes
        )
        name = f"{X.shape}, {'bidirectional' if given else 'causal'}, {gpu.n_iterations} passes"
        print(f"| {name} | {took_cpu:.2f} | {took:.2f} | {peak:.2f} | {same} |", flush=True)
        norms = [hb.haar_l1(X, found.trees) for found in (cpu, gpu)]
        print(f"| l1 norms {norms[0]:.8g} and {norms[1]:.8g} | | | | |", flush=True)
    X = device_attention(256, 1024, False)
    peak, took = gigabytes(lambda: hb.organize(X, tree="haar", n_iterations=1))
    print(f"| {tuple(X.shape)}, float16, one pass | | {took:.2f} | {peak:.1f} | |", flush=True)


def organized(X):
    """The organization of a tensor, the memory it took in gigabytes, and its seconds."""
    found = None

    def work():
        nonlocal found
        found = hb.organize(X, engine="auto")

    peak, took = gigabytes(work)
    return found, peak, took


def network_of_7b_shape(attention, tokens=TOKENS):
    """A network of a 7B model's shape, random weights in bfloat16, on the device."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=4096, intermediate_size=11008, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=HEADS, vocab_size=32000, max_position_embeddings=tokens, use_cache=False,
        attn_implementation=attention, dtype=torch.bfloat16,
    )  # fmt: skip
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        network = LlamaForCausalLM(config).eval()
    torch.set_default_dtype(torch.float32)
    for name, weight in network.named_parameters():
        # Scores of ordinary size: with the usual start all attention would be nearly uniform.
        if "q_proj" in name or "k_proj" in name:
            weight.data.mul_(2.0)
    return network


def model():
    """A network of a 7B model's shape, random weights: recorded layer by layer, organised on the device."""
    network = network_of_7b_shape("eager")
    ids = torch.randint(0, 32000, (1, TOKENS), device="cuda")
    with torch.no_grad():
        network(ids[:, :64], use_cache=False)
        eager_peak, eager = gigabytes(lambda: network(ids, use_cache=False, output_attentions=True))
        torch.cuda.empty_cache()
        kept = None

        def keep(layer):
            def hook(module, inputs, outputs):
                kept[layer * HEADS : (layer + 1) * HEADS] = outputs[1][0]

            return hook

        hooks = [
            block.self_attn.register_forward_hook(keep(layer))
            for layer, block in enumerate(network.model.layers)
        ]

        def record():
            nonlocal kept
            kept = torch.empty(LAYERS * HEADS, TOKENS, TOKENS, dtype=torch.float16, device="cuda")
            network(ids, use_cache=False)

        record_peak, recording = gigabytes(record)
        for hook in hooks:
            hook.remove()
    found, organize_peak, organizing = organized(kept.permute(1, 2, 0))
    parameters = sum(weight.numel() for weight in network.parameters()) / 1e9
    shape = f"{parameters:.1f}B parameters, bfloat16, {LAYERS} x {HEADS} heads, {TOKENS} tokens"
    print(f"| {shape} | seconds | GB |")
    print("|---|---|---|")
    print(f"| eager forward, output_attentions=True | {eager:.2f} | {eager_peak:.1f} |")
    print(f"| forward recorded layer by layer in float16 | {recording:.2f} | {record_peak:.1f} |")
    how = f"organised in three iterations, engine {found.settings.engine}"
    print(f"| {how} | {organizing:.2f} | {organize_peak:.1f} |")


def capture():
    """The same network captured into a run: in chunks of rows, and as means over blocks of tokens."""
    network = network_of_7b_shape("sdpa", tokens=16384)
    print("| captured with mode transparent | seconds | GB of the device beyond weights | MB on disk |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        capture_line(network, 256, place / "warm.zarr")
        first = capture_line(network, 256, place / "first.zarr")
        second = capture_line(network, 512, place / "second.zarr")
        # Writing takes as long as the disk and the compressor do: a smaller one where that is slow.
        more = (TOKENS**2 - 256**2) / (512**2 - 256**2) * max(0.0, second - first)
        tokens = TOKENS if first + more < 100 else TOKENS // 2
        capture_line(network, tokens, place / "long.zarr")
        run = hb.open_run(place / "long.zarr")
        begin = time.perf_counter()
        tensor = torch.from_numpy(
            np.concatenate([block for block in run.tensor(0).head_blocks()]).astype(np.float16)
        )
        print(f"| read back, {tuple(tensor.shape)} | {time.perf_counter() - begin:.1f} | | |", flush=True)
        found, peak, took = organized(tensor.cuda().permute(1, 2, 0))
        print(f"| organised, engine {found.settings.engine} | {took:.1f} | {peak:.1f} | |", flush=True)
        del tensor, found
        cupy.get_default_memory_pool().free_all_blocks()
        capture_line(network, 16384, place / "pooled.zarr", pool=32)
        begin = time.perf_counter()
        hb.organize_run(hb.open_run(place / "pooled.zarr"))
        print(f"| organised: 512 x 512 blocks | {time.perf_counter() - begin:.1f} | | |", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"| memory of the host at the most: {peak:.1f} GB | | | |")


def capture_line(network, tokens, place, **given):
    """Capture one sample, print a line, and return the seconds it took."""
    ids = torch.randint(0, 32000, (1, tokens))
    peak, took = gigabytes(lambda: hb.capture(network, ids, place, mode="transparent", **given))
    size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 1e6
    about = f"{tokens:,} tokens" + "".join(f", {name}={value}" for name, value in given.items())
    print(f"| {about} | {took:.1f} | {peak:.1f} | {size:,.0f} |", flush=True)
    return took


PARTS = {"sums": sums, "paper": paper, "large": large, "haar": haar, "model": model, "capture": capture}

if __name__ == "__main__":
    device = hb.GpuEngine().device
    print(f"{device.name}, CuPy {cupy.__version__}, torch {torch.__version__}, numpy {np.__version__}\n")
    failed = []
    for part in sys.argv[1:] or PARTS:
        try:
            PARTS[part]()
        except Exception:
            failed.append(part)
            traceback.print_exc(file=sys.stdout)
        print(flush=True)
        cupy.get_default_memory_pool().free_all_blocks()
        torch.cuda.empty_cache()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
