"""Strong scaling of a run on a Dask cluster: the same batches on one worker and on two.

Run: python benchmarks/cluster.py [--batches 8] [--tokens 256] [--workers 2]

Each worker has one thread. All processes load their kernels before the clock starts. Wall times are taken
in turn, and the best of the rounds is told. On a machine that others use too they say little, so the
processor time of the busiest worker and of this process, which hands out batches and keeps results meanwhile,
is told as well: with a core for each process there would be no more to wait for than their sum.
"""

import argparse
import logging
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

import haarbor as hb
from haarbor.store import RunPlan, StreamPlan, create_run


def stored_run(folder: Path, n_batches: int, n_tokens: int, n_layers: int, n_heads: int) -> hb.store.Run:
    stream = StreamPlan(name="self", n_layers=n_layers, n_heads=n_heads, n_queries=n_tokens, n_keys=n_tokens)
    plan = RunPlan(model="made up", streams=(stream,), n_batches=n_batches, contents=("probabilities",))
    with create_run(folder, plan) as writer:
        for index in range(n_batches):
            network = hb.datasets.synthetic_network(n_tokens, n_layers, n_heads, batch=index)
            with writer.batch(index) as batch:
                batch.write_mask("self", network.mask)
                for layer in range(n_layers):
                    heads = network.tensor[:, :, layer * n_heads : (layer + 1) * n_heads]
                    batch.write_layer("self", layer, {"probabilities": heads.transpose(2, 0, 1)})
    return hb.open_run(folder)


def measured(source: Path, place: Path, n_workers: int) -> dict[str, float]:
    """Wall time and processor times of one organisation on so many workers, which are warm."""
    shutil.copytree(source, place)
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL, memory_limit=0,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        client.run(warm)
        before, own, begun = client.run(time.process_time), time.process_time(), time.perf_counter()
        engine = hb.ClusterEngine(cluster.scheduler_address)
        hb.organize_run(hb.open_run(place), options={"engine": engine})
        wall, own = time.perf_counter() - begun, time.process_time() - own
        after = client.run(time.process_time)
    spent = [after[address] - before[address] for address in after]
    return {"wall": wall, "busiest": max(spent), "all": sum(spent), "own": own}


def warm() -> None:
    """Load every kernel that a batch needs."""
    X = np.random.default_rng(0).random((24, 24, 6)).astype(np.float32)
    org = hb.organize(X, engine=hb.CpuEngine(1))
    hb.head_entropy(X, org.trees)
    hb.network_entropy(X, org.trees)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--batches", type=int, default=8)
    asked.add_argument("--tokens", type=int, default=256)
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--rounds", type=int, default=2)
    options = asked.parse_args()
    best: dict[int, dict[str, float]] = {}
    warm()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        stored_run(source, options.batches, options.tokens, 6, 8)
        for turn in range(options.rounds):
            for n_workers in (1, options.workers):
                found = measured(source, Path(folder) / f"{turn}-{n_workers}", n_workers)
                if n_workers not in best or found["wall"] < best[n_workers]["wall"]:
                    best[n_workers] = found
    print(f"{options.batches} batches, {options.tokens} tokens, 48 heads; one thread for each worker\n")
    print("| workers | wall, s | busiest worker, CPU s | all workers, CPU s | this process, CPU s |")
    print("|---|---|---|---|---|")
    for n_workers, found in best.items():
        print(
            f"| {n_workers} | {found['wall']:.1f} | {found['busiest']:.1f} | {found['all']:.1f} "
            f"| {found['own']:.1f} |"
        )
    one, more = best[1], best[options.workers]
    path = (one["busiest"] + one["own"]) / (more["busiest"] + more["own"])
    print(f"\n{one['wall'] / more['wall']:.2f} x by the wall clock; {path:.2f} x by processor time")


if __name__ == "__main__":
    main()
