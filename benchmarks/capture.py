"""Cost of capture beside the plain forward of the same model on the same batch, in one run.

Takes a folder of networks made by ``python tests/real/fetch_networks.py FOLDER``:

    python benchmarks/capture.py FOLDER
"""

import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch
from machine import machine_line

from haarbor.capturing import capture, load_model
from haarbor.capturing.capture import _forward
from haarbor.capturing.huggingface import recorded_attention
from haarbor.capturing.inputs import random_samples
from haarbor.capturing.sample_recorder import SampleRecorder

TOKENS = 256
RUNS = 7


def set_attention(model, name):
    for module in model.modules():
        if hasattr(module, "config"):
            module.config._attn_implementation_internal = name


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def resident():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def peak_growth(work):
    """Bytes by which resident memory rose at most while `work` ran, sampled every millisecond."""
    before, highest, done = resident(), [0], threading.Event()

    def watch():
        while not done.is_set():
            highest[0] = max(highest[0], resident())
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    done.set()
    watcher.join()
    return max(0, highest[0] - before)


def compare(name, loaded):
    model = loaded.model
    sample = random_samples(loaded.takes, n_samples=1, n_tokens=TOKENS)[0]
    inputs = dict(sample.inputs)

    def plain(attention, **options):
        set_attention(model, attention)
        with torch.no_grad():
            model(**inputs, **options)

    def recorded(mode):
        recorder = SampleRecorder(model, ("probabilities",), sample, lambda *_layer: None)
        with recorded_attention(model, mode, recorder.record):
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
    layer = recorded_layer_bytes(model, sample)
    for mode, base in (("faithful", "eager"), ("transparent", "sdpa")):
        growth = [peak_growth(lambda mode=mode: recorded(mode)) for _ in range(3)]
        bare = [peak_growth(lambda base=base: plain(base)) for _ in range(3)]
        above = (max(growth) - max(bare)) / layer
        print(f"  {mode}: peak memory {above:+.1f} layers' attention above the un-instrumented forward")


def recorded_layer_bytes(model, sample):
    shapes = []
    recorder = SampleRecorder(
        model,
        ("probabilities",),
        sample,
        lambda _s, _l, arrays: shapes.append(arrays["probabilities"].nbytes),
    )
    with recorded_attention(model, "transparent", recorder.record):
        _forward(model, sample)
    return max(shapes)


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


if __name__ == "__main__":
    main()
