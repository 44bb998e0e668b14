"""Documents that claim the absurd, or are none: one line, before anything is allocated."""

import hashlib
import json
import shutil
import tracemalloc

import numpy as np
import pytest

from haarbor.errors import HaarborError, SettingError, ShapeError, StoreError
from haarbor.store import RunPlan, StreamPlan, create_run, open_run
from tests.store.runs import STREAM, tiny_plan


@pytest.fixture
def place(complete_run):
    return complete_run


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


def of_stream(**changes):
    return lambda attributes: attributes["plan"]["streams"][0].update(changes)


def of_plan(**changes):
    return lambda attributes: attributes["plan"].update(changes)


ABSURD = {
    "layers": of_stream(n_layers=10**12),
    "heads": of_stream(n_heads=10**12, head_groups=None),
    "queries": of_stream(n_queries=10**12),
    "keys": of_stream(n_keys=10**30),
    "entries of a layer": of_stream(n_queries=10**7, n_keys=10**7),
    "heads in all": of_stream(n_layers=10**5, n_heads=10**5, head_groups=None),
    "batches": of_plan(n_batches=10**18),
    "no batches": of_plan(n_batches=0),
    "batches as a text": of_plan(n_batches="3"),
    "batches as a fraction": of_plan(n_batches=3.0),
    "batches as a truth": of_plan(n_batches=True),
    "layers as a fraction": of_stream(n_layers=2.0),
    "layers as a list": of_stream(n_layers=[2]),
    "groups as a number": of_stream(head_groups=3),
    "groups as a text": of_stream(head_groups="001"),
    "groups as fractions": of_stream(head_groups=[0, 0, 0.5]),
    "groups beyond the heads": of_stream(head_groups=[0, 0, 3]),
    "a stream's name as a number": of_stream(name=5),
    "a stream's name that climbs": of_stream(name="../x"),
    "a member too many": of_stream(more=1),
    "no streams": of_plan(streams=[]),
    "streams as a number": of_plan(streams=7),
    "streams as a text": of_plan(streams="decoder"),
    "streams of numbers": of_plan(streams=[1, 2]),
    "too many streams": lambda a: a["plan"].update(
        streams=[{**a["plan"]["streams"][0], "name": f"s{i}"} for i in range(1001)]
    ),
    "contents as a text": of_plan(contents="logits"),
    "contents of lists": of_plan(contents=[["logits"]]),
    "no model": lambda a: a["plan"].pop("model"),
    "a model as a number": of_plan(model=3),
    "half a character in the model's name": of_plan(model="gpt\ud800"),
    "half a character in a setting": of_plan(settings={"data": ["\udfff"]}),
    "half a character in a setting's name": of_plan(settings={"\udfff": 1}),
    "versions of numbers": of_plan(library_versions={"numpy": 2}),
    "settings as a list": of_plan(settings=[1]),
    "a digest as nothing": of_plan(config_digest=None),
    "a dtype as a list": of_plan(dtype=["float32"]),
    "labels as a mapping": of_plan(labels={}),
    "a plan as a list": lambda a: a.update(plan=[]),
    "no plan": lambda a: a.pop("plan"),
}


@pytest.mark.parametrize("how", ABSURD)
def test_an_absurd_plan_is_one_line_and_takes_no_memory(place, how):
    forge(place / "zarr.json", ABSURD[how])
    tracemalloc.start()
    with pytest.raises(StoreError, match="must") as caught:
        open_run(place)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
    str(caught.value).encode()


def test_a_forged_plan_that_can_be_is_a_plan(place):
    forge(place / "zarr.json", of_plan(model="another"))
    assert open_run(place).model == "another"
    with pytest.raises(StoreError, match="it belongs to a run of another plan"):
        open_run(place).tensor(0)


DOCUMENTS = {
    "deep lists": b"[" * 10**5,
    "deep objects": b'{"a":' * 10**5,
    "deep in the attributes": b'{"zarr_format":3,"node_type":"group","attributes":{"format":"haarbor run",'
    b'"version":2,"digest":"x","plan":' + b"[" * 900 + b"]" * 900 + b"}}",
    "NaN": b'{"zarr_format":3,"node_type":"group","attributes":{"format":"haarbor run","version":NaN}}',
    "infinity": b'{"zarr_format":3,"node_type":"group","attributes":{"format":"haarbor run","version":2,'
    b'"digest":"x","plan":1e999}}',
    "a huge number": b'{"zarr_format":' + b"9" * 5000 + b"}",
    "not UTF-8": b'{"zarr_format":3,"node_type":"\xff"}',
    "UTF-16": '{"zarr_format":3,"node_type":"group","attributes":{}}'.encode("utf-16"),
    "a name twice": b'{"zarr_format":3,"zarr_format":3,"node_type":"group","attributes":{}}',
    "a number": b"3",
    "a text": b'"text"',
    "nothing": b"",
    "null": b"null",
    "a list": b"[]",
    "zeros": b"\0" * 100,
    "attributes as a list": b'{"zarr_format":3,"node_type":"group","attributes":[]}',
    "another zarr": b'{"zarr_format":2,"node_type":"group","attributes":{}}',
    "a true zarr": b'{"zarr_format":true,"node_type":"group","attributes":{}}',
}
PLACES = {
    "root": "zarr.json",
    "marker": "batches/00001/zarr.json",
    "array": "decoder/probabilities/zarr.json",
    "result": "results/decoder/probabilities/batch-00001/x/zarr.json",
    "array of a result": "results/decoder/probabilities/batch-00001/x/a/zarr.json",
}


@pytest.mark.parametrize("how", DOCUMENTS)
@pytest.mark.parametrize("what", PLACES)
def test_a_document_that_is_none_is_one_line(place, what, how):
    open_run(place).save_result({"a": np.arange(2)}, "x", batch=1)
    (place / PLACES[what]).write_bytes(DOCUMENTS[how])

    def use():
        run = open_run(place)
        np.asarray(run.tensor(1))
        run.load_result("x", batch=1)

    with pytest.raises(StoreError, match="must") as caught:
        use()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 900
    if what != "root":
        run = open_run(place)
        assert not run.has_result("x", batch=1) or what == "array"
        assert len(run.verify()) == 1


def test_a_document_longer_than_any_is_not_swallowed(place):
    for path in ("batches/00001/zarr.json", "decoder/logits/zarr.json", "zarr.json"):
        with (place / path).open("r+b") as file:
            file.truncate(10**12)  # sparse
        tracemalloc.start()
        with pytest.raises(StoreError, match="it holds more than the"):
            open_run(place).tensor(1, "logits")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20e6


def test_a_chunk_longer_than_it_can_be_is_not_swallowed(place):
    with (place / "decoder/logits/c.1.0.0.0.0").open("r+b") as file:
        file.truncate(10**12)  # sparse
    tracemalloc.start()
    with pytest.raises(StoreError, match="layer 0, logits: it holds more than the 1217 bytes"):
        np.asarray(open_run(place).tensor(1, "logits"))
    assert len(open_run(place).verify()) == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


def test_a_chunk_that_claims_to_unfold_into_more_is_refused_before_it_does(place):
    import google_crc32c
    from numcodecs.zstd import Zstd

    for n_bytes in (10**8, 190, 0):
        data = Zstd(level=1).encode(bytes(n_bytes))[:1000]
        data += google_crc32c.value(data).to_bytes(4, "little")
        (place / "decoder/logits/c.1.0.0.0.0").write_bytes(data)
        forge(
            place / "batches/00001/zarr.json",
            lambda a, data=data: a["checksums"]["decoder/logits"].__setitem__(0, data[-4:].hex()),
        )
        tracemalloc.start()
        with pytest.raises(StoreError, match=f"it holds {n_bytes} bytes of numbers, and not 192"):
            np.asarray(open_run(place).tensor(1, "logits"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20e6


MARKERS = {
    "a checksum too few": lambda a: a["checksums"]["decoder/logits"].pop(),
    "a checksum as a number": lambda a: a["checksums"]["decoder/logits"].__setitem__(0, 5),
    "checksums of another array": lambda a: a["checksums"].update(other=["00000000"]),
    "no checksums": lambda a: a.update(checksums=None),
    "labels as a list": lambda a: a.update(labels=[]),
    "labels of another stream": lambda a: a["labels"].update(x={"query": [], "key": None}),
    "labels too few": lambda a: a["labels"]["decoder"].update(query=["a"], key=["b"]),
    "labels of numbers": lambda a: a["labels"]["decoder"].update(query=[1, 2, 3, 4]),
    "a picture as a text": lambda a: a.update(picture="abc"),
    "a batch as a truth": lambda a: a.update(batch=True),
    "no batch": lambda a: a.pop("batch"),
    "a member too many": lambda a: a.update(more=1),
    "another format": lambda a: a.update(format="x"),
    "another version": lambda a: a.update(version=1),
}


@pytest.mark.parametrize("how", MARKERS)
def test_a_forged_marker_is_one_line(place, how):
    forge(place / "batches/00001/zarr.json", MARKERS[how])
    run = open_run(place)
    with pytest.raises(StoreError, match=r"the marker of batch 1 of .* must be readable"):
        run.labels(1)
    assert [damage.content for damage in run.verify()] == ["marker"]


def test_a_forged_picture_is_one_line(place):
    def picture(attributes):
        attributes["picture"] = [10**9, 10**9, 3]
        attributes["checksums"]["pictures/00001"] = ["00000000"]

    forge(place / "batches/00001/zarr.json", picture)
    with pytest.raises(StoreError, match="which no picture is"):
        open_run(place).picture(1)


RESULTS = {
    "an absurd shape": lambda a: a["arrays"]["a"].update(shape=[10**18]),
    "a large shape": lambda a: a["arrays"]["a"].update(shape=[10**10]),
    "too many axes": lambda a: a["arrays"]["a"].update(shape=[1] * 99),
    "objects": lambda a: a["arrays"]["a"].update(dtype="object"),
    "a dtype as a list": lambda a: a["arrays"]["a"].update(dtype=[]),
    "no checksum": lambda a: a["arrays"]["a"].update(checksum=""),
    "an array as a number": lambda a: a["arrays"].update(a=1),
    "an array elsewhere": lambda a: a["arrays"].update({"../../x": a["arrays"]["a"]}),
    "arrays as a list": lambda a: a.update(arrays=[]),
    "another array": lambda a: a.update(value={"array": "b"}),
    "a type without fields": lambda a: a.update(value={"type": "HeadEntropy", "version": 1}),
    "a version as a text": lambda a: a.update(value={"type": "HeadEntropy", "version": "x", "fields": {}}),
    "a mapping of numbers": lambda a: a.update(value={"mapping": 3}),
    "a tree that is none": lambda a: a.update(value={"tree": "a"}),
    "sources as a list": lambda a: a.update(sources=[]),
    "another version": lambda a: a.update(version=99),
}


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {"tuple": [value]}
    return value


def test_a_result_that_is_nested_without_end_is_refused(place):
    endless = []
    endless.append(endless)
    for value in (endless, nested(10**5)):
        with pytest.raises(SettingError, match="a result must not be nested too deeply"):
            open_run(place).save_result(value, "x", batch=1)


@pytest.mark.parametrize("how", RESULTS)
def test_a_forged_result_is_one_line(place, how):
    run = open_run(place)
    run.save_result({"a": np.arange(2)}, "x", batch=1)
    forge(place / PLACES["result"], RESULTS[how])
    tracemalloc.start()
    with pytest.raises(StoreError, match="must") as caught:
        run.load_result("x", batch=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert "\n" not in str(caught.value)
    run.save_result(5, "x", batch=1)
    assert run.load_result("x", batch=1) == 5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_layers": 10**12}, "n_layers of stream 's' must be a whole number from 1 to 100000"),
        ({"n_layers": True}, "n_layers"),
        ({"n_queries": 2.0}, "n_queries"),
        ({"n_keys": "8"}, "n_keys"),
        ({"n_queries": 10**7, "n_keys": 10**7}, "entries a layer"),
        ({"head_groups": (0, True)}, "head_groups"),
        ({"head_groups": (0, 2)}, "head_groups"),
        ({"head_groups": 5}, "head_groups"),
    ],
)
def test_streams_of_sizes_that_none_has_are_refused(changes, words):
    with pytest.raises(ShapeError, match=words):
        StreamPlan(**{"name": "s", "n_layers": 1, "n_heads": 2, "n_queries": 1, "n_keys": 1, **changes})


@pytest.mark.parametrize(
    "name", [None, 5, b"s", "zarr.json", "x.partial", "x.lock", "desktop.ini", "a" * 101]
)
def test_streams_of_names_that_mean_something_else_are_refused(name):
    with pytest.raises(SettingError, match="a stream's name must be"):
        StreamPlan(name=name, n_layers=1, n_heads=1, n_queries=1, n_keys=1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": None}, "model must be a text"),
        ({"model": "\ud800"}, "model must be a text that can be printed; found '.ud800'"),
        ({"config_digest": 3}, "config_digest must be a text"),
        ({"streams": STREAM}, "streams must be several; found StreamPlan"),
        ({"streams": ("decoder",)}, "of StreamPlan; found a str"),
        ({"contents": "logits"}, "contents must be several; found str"),
        ({"n_batches": 10**18}, "n_batches must be at least 1 and at most 1000000"),
        ({"n_batches": 2.5}, "n_batches must be"),
        ({"n_batches": True}, "n_batches must be"),
        ({"settings": [1]}, "settings must be a mapping"),
        ({"settings": {"a": nested(60)}}, "settings must not be nested deeper than 50 levels"),
        ({"settings": {"a": nested(10**5)}}, "settings must not be nested deeper than 50 levels"),
        ({"settings": {"a": ["\ud800"]}}, "every text in settings must be a text that can be printed"),
        ({"library_versions": {"numpy": 2}}, "the version of numpy must be a text"),
    ],
)
def test_plans_that_cannot_be_written_are_refused(changes, words):
    with pytest.raises(HaarborError, match=words):
        tiny_plan(**changes)


def test_a_plan_may_come_with_numbers_of_numpy():
    plan = tiny_plan(n_batches=np.int64(3))
    assert type(plan.n_batches) is int
    assert plan == tiny_plan()
    assert plan.digest == tiny_plan().digest == RunPlan.from_dict(plan.to_dict()).digest


def test_a_folder_called_like_a_batch_beyond_all_is_no_batch(place):
    for name in ("000003", "99999999999999999999", "00003x", "٠٠٠٠٣"):
        shutil.copytree(place / "batches/00001", place / "batches" / name)
    assert open_run(place).batches == (0, 1, 2)
    with create_run(place, tiny_plan()) as writer:
        assert writer.missing_batches == ()
    shutil.copytree(place / "batches/00001", place / "batches/00007")
    [damage] = open_run(place).verify()
    assert (damage.batch, damage.content) == (7, "marker")
