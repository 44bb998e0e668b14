"""What several tests of the store are made of: small runs, files of arrays, damage, and rights."""

import dataclasses
import hashlib
import io
import json
import math
import os
import struct
import tracemalloc
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import (
    RunPlan,
    StreamPlan,
    create_run,
)
from haarbor.store._array_files import arrays_in_file

CHUNK = "decoder/logits/c.1.0.0.0.0"
RESULT = "results/decoder/probabilities/batch-00000/scores"
CAUSAL = np.tri(5, dtype=bool)
PLACES = {
    "root": "zarr.json",
    "marker": "batches/00001/zarr.json",
    "array": "decoder/probabilities/zarr.json",
    "result": "results/decoder/probabilities/batch-00001/x/zarr.json",
    "array of a result": "results/decoder/probabilities/batch-00001/x/a/zarr.json",
}
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


def npy(header, data=b"", version=(1, 0)):
    """Bytes of a .npy file with a header as given."""
    text = header.encode("latin1")
    length = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text + data


def npy_header(descr="'<f8'", order="False", shape="(2,)", more=""):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {more}}}\n"


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def npz(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def assert_refused(path, words=r"must be a .* file of numbers"):
    tracemalloc.start()
    with pytest.raises(StoreError, match=words) as caught:
        dict(arrays_in_file(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
    str(caught.value).encode()


def flip(path, position):
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(bytes(data))


def edit(file, change):
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))


def heads(attention, batch):
    return attention[batch].reshape(6, 5, 5).transpose(1, 2, 0)


def canonical_digest(values):
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def forge(file, change):
    """Change the attributes of a group, and its digest with them."""
    document = json.loads(file.read_text())
    attributes = document["attributes"]
    attributes.pop("digest")
    change(attributes)
    document["attributes"] = {**attributes, "digest": canonical_digest(attributes)}
    file.write_text(json.dumps(document))


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {"tuple": [value]}
    return value


def refused(use, place):
    """The one line that is said."""
    with pytest.raises(StoreError) as caught:
        use(place)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 12_000
    text.encode()
    return text


@contextmanager
def without_rights():
    """As a user whom permissions bind."""
    if os.name != "posix":
        pytest.skip("needs permissions")
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def rights(place, folders, files):
    for path in sorted(place.rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(folders if path.is_dir() else files)
    place.chmod(folders)


def assert_same(found, expected):
    """Equal in type and value, all the way down."""
    assert type(found) is type(expected)
    if dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            assert_same(getattr(found, field.name), getattr(expected, field.name))
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for name in expected:
            assert_same(found[name], expected[name])
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert np.array_equal(found, expected, equal_nan=found.dtype.kind == "f")
        assert not found.flags.writeable
    else:
        assert found == expected or (math.isnan(found) and math.isnan(expected))


@contextmanager
def unfinished(writer, index):
    """A batch that ends without all its parts, as a test of refusals does."""
    with pytest.raises(StoreError, match="lacks"), writer.batch(index) as batch:
        yield batch


def fill(batch, index=0, layers=(0, 1)):
    for layer in layers:
        batch.write_layer("decoder", layer, layer_values(STREAM, index, layer))
