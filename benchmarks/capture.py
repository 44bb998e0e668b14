"""Cost of capture beside the plain forward of the same model on the same batch, in one run.

Takes a folder of networks made by ``python tests/real/fetch_networks.py FOLDER``:

    python benchmarks/capture.py FOLDER
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import torch
from machine import machine_line

from haarbor.capturing import capture, load_model, recorded_calls
from haarbor.capturing._capture import _forward, _observe
from haarbor.capturing._observed_calls import ObservedCalls
from haarbor.capturing._sample_recorder import SampleRecorder
from haarbor.capturing._weights_digest import weights_digest
from haarbor.capturing.inputs import random_samples

TOKENS = 256
RUNS = 15


def set_attention(model, name):
    for module in model.modules():
        if hasattr(module, "config"):
            module.config._attn_implementation_internal = name


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def peak_memory(folder, what):
    """Peak resident memory in bytes of one forward of SmolLM2 in a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, folder, what],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    return json.loads(done.stdout.splitlines()[-1])


def forward_alone(folder, what):
    """The child of `peak_memory`: plain or recorded forward of 1,024 tokens, then its peak."""
    loaded = load_model(Path(folder) / "smollm2", gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf")
    sample = random_samples(loaded.takes, n_samples=1, n_tokens=1024)[0]
    set_attention(loaded.model, "eager" if what in ("eager", "faithful") else "sdpa")
    observed = ObservedCalls(loaded.model)
    _observe(observed, loaded.model, sample, what if what in ("faithful", "transparent") else "faithful")
    recorder = SampleRecorder(observed, observed.streams, ("probabilities",), sample, lambda *_layer: None)
    # Loading takes more memory than running: the peak is counted from here.
    Path("/proc/self/clear_refs").write_text("5")
    recording = what in ("faithful", "transparent")
    with recorded_calls(loaded.model, recorder.record, mode=what) if recording else nullcontext():
        _forward(loaded.model, sample)
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    print(json.dumps(peak))


def compare(name, loaded):
    model = loaded.model
    sample = random_samples(loaded.takes, n_samples=1, n_tokens=TOKENS)[0]
    inputs = dict(sample.inputs)

    def plain(attention, **options):
        set_attention(model, attention)
        with torch.no_grad():
            model(**inputs, **options)

    observed = {mode: ObservedCalls(model) for mode in ("faithful", "transparent")}
    for mode, calls in observed.items():
        _observe(calls, model, sample, mode)

    def recorded(mode):
        calls = observed[mode]
        recorder = SampleRecorder(calls, calls.streams, ("probabilities",), sample, lambda *_layer: None)
        with recorded_calls(model, recorder.record, mode=mode):
            _forward(model, sample)

    works = {
        "eager with output_attentions": lambda: plain("eager", output_attentions=True),
        "faithful": lambda: recorded("faithful"),
        "sdpa": lambda: plain("sdpa"),
        "transparent": lambda: recorded("transparent"),
    }
    for work in works.values():
        work()
    times = {key: [] for key in works}
    for _ in range(RUNS):
        for key, work in works.items():
            times[key].append(seconds(work))
    medians = {key: statistics.median(values) for key, values in times.items()}
    print(f"{name}, {TOKENS} tokens: " + ", ".join(f"{key} {value:.3f} s" for key, value in medians.items()))
    faithful = medians["faithful"] / medians["eager with output_attentions"]
    transparent = medians["transparent"] / medians["sdpa"]
    print(f"  faithful {faithful:.2f} x eager; transparent {transparent:.2f} x sdpa")


def to_disk(name, loaded):
    samples = random_samples(loaded.takes, n_samples=3, n_tokens=TOKENS)
    folder = Path(tempfile.mkdtemp())
    try:
        for dtype in ("float16", "float32"):
            run = capture(loaded.model, samples, folder / dtype, dtype=dtype, mode="transparent")
            size = run.size_on_disk()
            ratio = run.n_batches * run.plan.n_bytes_per_batch / size
            print(f"  {name} as {dtype}: {size / 1e6:.1f} MB on disk, compressed {ratio:.2f} times")
        layer = run.tensor(0)
        values = {
            "probabilities": torch.as_tensor(layer[:, :, : run.heads_per_layer]).permute(2, 0, 1).numpy()
        }
        from haarbor.store import create_run

        with create_run(folder / "speed", run.plan) as writer, writer.batch(0) as batch:
            n_layers = len(run.layers)
            took = seconds(lambda: [batch.write_layer("self", index, values) for index in range(n_layers)])
            batch.write_mask("self", run.mask(0))
        written = n_layers * values["probabilities"].nbytes
        print(f"  {name}: {written / took / 1e6:.0f} MB/s to disk before compression")
    finally:
        shutil.rmtree(folder)


def digest(name, model):
    """What telling one checkpoint from another costs, once a capture."""
    n_bytes = sum(weight.numel() * weight.element_size() for weight in model.parameters())
    took = statistics.median(seconds(lambda: weights_digest(model)) for _ in range(RUNS))
    print(f"{name}: digest of {n_bytes / 1e6:.0f} MB of weights in {took:.2f} s", flush=True)


def main():
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    folder = Path(sys.argv[1])
    print(machine_line() + f", torch {torch.__version__}")
    networks = {
        "SmolLM2-135M": load_model(folder / "smollm2", gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf"),
        "all-MiniLM-L6-v2": load_model(folder / "minilm"),
    }
    for name, loaded in networks.items():
        compare(name, loaded)
        to_disk(name, loaded)
        digest(name, loaded.model)
    if Path("/proc/self/status").exists():
        layer = 9 * 1024 * 1024 * 4
        for mode, base in (("faithful", "eager"), ("transparent", "sdpa")):
            above = min(peak_memory(sys.argv[1], mode) - peak_memory(sys.argv[1], base) for _ in range(2))
            print(
                f"SmolLM2-135M, 1,024 tokens, {mode}: peak memory {above / layer:+.2f} layers' attention "
                f"({layer / 1e6:.0f} MB each) above the {base} forward"
            )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        forward_alone(sys.argv[1], sys.argv[2])
    else:
        main()
