import re
import subprocess
import sys

import numpy as np
import pytest

import haarbor as hb
from haarbor.questionnaire import MemoryPlan, _organize
from haarbor.questionnaire._streamed_tensor import StreamedTensor
from haarbor.store import HeadTensor
from haarbor.transport import MappedTensor

AXES = ("query", "key", "head")
STREAMED = MemoryPlan(
    limit=1, is_streamed=True, tensor_bytes=1, peak_bytes=1, scratch_bytes=1, threads=2, piece_bytes=5000
)


@pytest.fixture
def from_disk(monkeypatch):
    """Organises from temporary files, however small the tensor is."""
    monkeypatch.setattr(_organize, "memory_plan", lambda *given, **named: STREAMED)
    return lambda X, *given, **options: hb.organize(X, *given, memory="1GB", **options)


def attention(rng, shape, dtype=np.float32):
    n_queries, n_keys, _ = shape
    scores = rng.normal(size=shape) * 2
    scores[np.triu_indices(n_queries, 1, n_keys)] = -np.inf
    weights = np.exp(scores)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(dtype)


def assert_same(one, other):
    assert one.history == other.history
    assert one.settings == other.settings
    for axis in one.axes:
        assert np.abs(one.affinities[axis] - other.affinities[axis]).max() < 1e-13


@pytest.mark.parametrize("options", [{}, {"refine": "published"}, {"tree": "binary"}, {"start": "order"}])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_trees_are_those_of_the_tensor_in_memory(rng, from_disk, dtype, options):
    X = attention(rng, (24, 24, 19), dtype)
    assert_same(from_disk(X, **options), hb.organize(X, **options))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_mapped_file_with_the_heads_first_is_read_where_it_is(rng, from_disk, tmp_path, dtype):
    X = attention(rng, (24, 24, 19), dtype)
    np.save(tmp_path / "X.npy", X.transpose(2, 0, 1))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same(from_disk(mapped.transpose(1, 2, 0)), hb.organize(X))
    some = mapped[3:17].transpose(1, 2, 0)
    assert_same(from_disk(some), hb.organize(X[:, :, 3:17]))
    assert isinstance(StreamedTensor(some, AXES, None, "auto", STREAMED).scratch, MappedTensor)


def test_the_plan_says_whether_a_mapped_file_is_copied(rng, tmp_path):
    np.save(tmp_path / "X.npy", attention(rng, (64, 64, 300)).transpose(2, 0, 1))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    plans = []
    for X, mask in [(mapped.transpose(1, 2, 0), None), (mapped.transpose(1, 2, 0), np.ones((64, 64), bool))]:
        plans.append(_organize._plan(X, AXES, "100GB", mask))
    assert [plan.in_place for plan in plans] == [False, False]
    # Where it does not fit.
    small = f"{plans[0].peak_bytes // 10**6 - 5}MB"
    assert _organize._plan(mapped.transpose(1, 2, 0), AXES, small, None).in_place
    assert not _organize._plan(mapped.transpose(1, 2, 0), AXES, small, np.ones((64, 64), bool)).in_place


def test_very_large_numbers_of_a_mapped_file_are_scaled(rng, from_disk, tmp_path):
    X = attention(rng, (12, 12, 10), np.float64) * 2.0**700
    np.save(tmp_path / "X.npy", X.transpose(2, 0, 1))
    assert_same(from_disk(np.load(tmp_path / "X.npy", mmap_mode="r").transpose(1, 2, 0)), hb.organize(X))


def test_masked_logits_are_made_neutral_as_in_memory(rng, from_disk):
    X = rng.normal(size=(15, 15, 9)).astype(np.float32)
    mask = np.tri(15, dtype=bool)
    X[~mask] = -np.inf
    assert_same(from_disk(X, mask=mask), hb.organize(X, mask=mask))
    assert_same(from_disk(X, mask=np.repeat(mask[:, :, None], 9, 2)), hb.organize(X, mask=mask))


def test_heads_that_look_like_probabilities_beside_logits_are_logits(rng, from_disk):
    X = rng.normal(size=(10, 10, 11)).astype(np.float32)
    mask = np.tri(10, dtype=bool)
    X[~mask] = 0
    X[:, :, 4] = attention(rng, (10, 10, 1))[:, :, 0]
    found = from_disk(X, mask=mask)
    assert found.settings.masked_entries == "row mean of valid logits"
    assert_same(found, hb.organize(X, mask=mask))


def test_very_large_numbers_are_scaled_as_in_memory(rng, from_disk):
    X = attention(rng, (12, 12, 10), np.float64) * 2.0**700
    assert_same(from_disk(X), hb.organize(X))


def test_every_layer_of_a_run_is_read_once(rng, from_disk):
    X = attention(rng, (12, 12, 10))
    read = []

    def layer(number):
        read.append(number)
        return np.ascontiguousarray(X[:, :, 5 * number : 5 * number + 5].transpose(2, 0, 1))

    tensor = HeadTensor(layer, 2, (5, 12, 12))
    assert tensor.heads_per_block == 5
    assert_same(from_disk(tensor), hb.organize(X))
    assert read == [0, 1]


def test_what_is_wrong_is_said_with_its_head(rng, from_disk):
    X = attention(rng, (6, 6, 4))
    X[2, 1, 3] = np.nan
    with pytest.raises(hb.DataError, match=r"in head 3: .*query 2, key 1"):
        from_disk(X)


@pytest.mark.parametrize("options", [{"tree": "haar"}, {"initial": "gaussian"}])
def test_what_needs_the_whole_tensor_is_refused(rng, from_disk, options):
    with pytest.raises(hb.SettingError, match=r"memory must be enough for the whole tensor with .*Pass more"):
        from_disk(attention(rng, (6, 6, 4)), **options)


@pytest.mark.parametrize("axes", [("head", "query", "key"), ("query", "key")])
def test_other_axes_are_refused(rng, axes):
    with pytest.raises(hb.SettingError, match="memory must go with a tensor of three axes, the heads last"):
        hb.organize(rng.random((4,) * len(axes)), axes, memory="1GB")


PROGRAM = """
import re, sys
import numpy as np
import haarbor as hb
from haarbor.store import HeadTensor

def layer(number):
    X = np.random.default_rng(number).random((16, 192, 192), np.float32)
    X *= np.tri(192, dtype=np.float32)
    X /= X.sum(axis=2, keepdims=True)
    return X

tensor = HeadTensor(layer, 40, (16, 192, 192))
hb.organize(tensor, n_iterations=1, memory=sys.argv[1], on_plan=print)
print(tensor.nbytes, int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_peak_memory_stays_below_the_limit():
    # The program itself takes about 250 MB of the limit; beyond that the tensor is larger than what is left.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "360MB"], capture_output=True, text=True, check=True
    )
    plan, numbers = done.stdout.splitlines()
    n_bytes, peak = map(int, numbers.split())
    assert "does not fit into 360.0 MB" in plan
    assert peak < 360e6
    # In memory the same tensor takes three times its size, and more than the limit.
    assert n_bytes == 4 * 640 * 192 * 192
    assert re.search(r"once for every tree", plan)
