"""Small runs, the same for the same batch in every process."""

import numpy as np

from haarbor.store import RunPlan, StreamPlan, create_run

STREAM = StreamPlan(name="decoder", n_layers=2, n_heads=3, n_queries=4, n_keys=4, head_groups=(0, 0, 1))
ENCODER = StreamPlan(name="encoder", n_layers=1, n_heads=2, n_queries=5, n_keys=5)
CROSS = StreamPlan(name="cross", n_layers=2, n_heads=3, n_queries=4, n_keys=5)


def tiny_plan(**changes):
    settings = {
        "model": "tiny",
        "config_digest": "sha256:0",
        "streams": (STREAM,),
        "n_batches": 3,
        "contents": ("probabilities", "logits"),
        "dtype": "float32",
        "labels": "tokens",
        "settings": {"seed": 7, "mode": "faithful"},
        "library_versions": {"numpy": "2"},
    }
    return RunPlan(**{**settings, **changes})


def layer_values(stream, batch, layer):
    """Causal logits and their softmax, shape (head, query, key)."""
    rng = np.random.default_rng([batch, layer, stream.n_keys])
    logits = rng.normal(size=stream.layer_shape)
    weights = np.where(mask_of(stream), np.exp(logits), 0.0)
    return {"probabilities": weights / weights.sum(axis=-1, keepdims=True), "logits": logits}


def mask_of(stream):
    return np.tri(stream.n_queries, stream.n_keys, stream.n_keys - stream.n_queries, dtype=bool)


def labels_of(stream, batch):
    return [f"q{batch}.{i}é" for i in range(stream.n_queries)], [f"k{i}\ud800" for i in range(stream.n_keys)]


def picture_of(batch):
    """A small picture; None for every third batch."""
    if batch % 3 == 2:
        return None
    return np.random.default_rng([batch, 99]).integers(0, 256, (5, 6 + batch, 3), dtype=np.uint8)


def write_batch(writer, index, between=lambda: None, *, pictures=False):
    """A whole batch; `between` is called after every step."""
    with writer.batch(index) as batch:
        if pictures and picture_of(index) is not None:
            batch.write_picture(picture_of(index))
            between()
        for stream in writer.plan.streams:
            for layer in range(stream.n_layers):
                values = layer_values(stream, index, layer)
                batch.write_layer(stream.name, layer, {c: values[c] for c in writer.plan.contents})
                between()
            batch.write_mask(stream.name, mask_of(stream))
            if writer.plan.labels != "none":
                batch.write_labels(stream.name, *labels_of(stream, index))
            between()


def write_run(location, plan=None, batches=None, between=lambda: None, *, pictures=False):
    """All batches that are missing, or those named."""
    plan = tiny_plan() if plan is None else plan
    with create_run(location, plan) as writer:
        for index in writer.missing_batches if batches is None else batches:
            write_batch(writer, index, between, pictures=pictures)
    return location


def files_of(folder):
    """Bytes of every file below a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def assert_same_files(one, two):
    """Two folders hold the same files with the same bytes."""
    first, second = files_of(one), files_of(two)
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
