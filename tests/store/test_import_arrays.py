import numpy as np
import pytest

from haarbor.errors import DataError, HaarborError, SettingError, ShapeError, StoreError
from haarbor.store import import_arrays, open_run
from tests.store.builders import CAUSAL, assert_same_files, heads


@pytest.mark.parametrize("kind", ["npy", "npz", "safetensors"])
def test_files_give_the_same_run_as_the_array(attention, tmp_path, kind):
    from safetensors.numpy import save_file

    path = tmp_path / f"attention.{kind}"
    axes = ("batch", "layer", "head", "query", "key")
    if kind == "npy":
        np.save(path, attention)
    elif kind == "npz":
        np.savez(path, pattern=attention)
    else:
        save_file({"pattern": attention}, path, metadata={"made": "by a test"})
    import_arrays(path, tmp_path / "file.zarr", axes=axes, labels=list("abcde"))
    run = import_arrays({"": attention}, tmp_path / "array.zarr", axes=axes, labels=list("abcde"))
    assert run.labels(1).key == tuple("abcde")
    assert_same_files(tmp_path / "file.zarr", tmp_path / "array.zarr")


def test_several_files_are_batches_one_after_the_other(attention, tmp_path):
    for batch in range(2):
        np.save(tmp_path / f"{batch}.npy", attention[batch])
    paths = [tmp_path / "0.npy", str(tmp_path / "1.npy")]
    run = import_arrays(paths, tmp_path / "run.zarr", axes=("layer", "head", "query", "key"))
    assert run.batches == (0, 1)
    assert np.array_equal(run.tensor(1), heads(attention, 1))


def test_probabilities_and_logits_come_together(attention, tmp_path):
    axes = ("batch", "layer", "head", "query", "key")
    logits = np.where(CAUSAL, attention - 3, -np.inf)
    np.savez(tmp_path / "both.npz", attn=attention, scores=logits)
    run = import_arrays(
        tmp_path / "both.npz", tmp_path / "run.zarr", axes=axes, mask="causal",
        names={"probabilities": "attn", "logits": "scores"}, dtype="float16",
    )  # fmt: skip
    assert run.contents == ("probabilities", "logits")
    assert np.abs(np.asarray(run.tensor(0)) - heads(attention, 0)).max() < 2**-11
    assert np.isneginf(run.tensor(0, "logits")).sum() == 6 * 10


def test_importing_again_changes_nothing_and_other_arrays_are_refused(attention, new_place, tmp_path):
    run = import_arrays(heads(attention, 0), new_place, mask="causal")
    digest = run.plan.config_digest
    assert import_arrays(heads(attention, 0), new_place, mask="causal").plan.config_digest == digest
    with pytest.raises(StoreError, match=r"config_digest is .* there and .* here"):
        import_arrays(heads(attention, 1), new_place, mask="causal")
    with pytest.raises(StoreError, match="config_digest"):
        import_arrays(heads(attention, 0), new_place)
    assert np.array_equal(open_run(new_place).tensor(0), heads(attention, 0))


def test_values_that_cannot_be_stored_are_refused(attention, new_place):
    spoiled = heads(attention, 0).copy()
    spoiled[2, 1, 4] = np.nan
    with pytest.raises(DataError, match=r"layer 1 must be finite; found nan at \(head 1, query 2, key 1\)"):
        import_arrays(spoiled, new_place, heads_per_layer=3)
    assert open_run(new_place).batches == ()


@pytest.mark.parametrize(
    ("change", "options", "error", "words"),
    [
        (lambda x: x - 1, {}, DataError, "must not be negative; batch 0, layer 0 .* pass content='logits'"),
        (lambda x: np.log(x), {"content": "logits"}, DataError, "has -inf at query 0, key 1"),
        (lambda x: x, {"axes": ("query", "key")}, SettingError, "axes must name query, key and head"),
        (lambda x: x, {"axes": ("query", "key", "row")}, SettingError, "axes must name query, key and head"),
        (lambda x: x[..., None], {}, ShapeError, r"found 3 names .* for shape \(5, 5, 6, 1\)"),
        (lambda x: x[:, :, :0], {}, ShapeError, "every axis must hold at least one item"),
        (lambda x: x, {"heads_per_layer": 4}, ShapeError, "must divide the number of heads; found 4 for 6"),
        (lambda x: x, {"content": "scores"}, SettingError, "content must be 'probabilities' or 'logits'"),
        (lambda x: {"a": x, "b": x}, {}, SettingError, "which array is which; found \\['a', 'b'\\]"),
        (
            lambda x: {"a": x},
            {"names": {"logits": "b"}},
            SettingError,
            "names must go from .* found {'logits': 'b'}",
        ),
        (lambda x: {"logits": x}, {"content": "probabilities"}, SettingError, "one of those there, logits"),
        (
            lambda x: {"logits": x, "probabilities": x[:4]},
            {},
            ShapeError,
            "probabilities and logits must have the same",
        ),
        (lambda x: x, {"mask": "bidirectional"}, SettingError, "mask must be 'causal' or an array"),
        (lambda x: x, {"mask": np.ones((5, 5))}, ShapeError, "mask must be boolean of shape"),
        (lambda x: x, {"mask": np.eye(5, dtype=bool)}, DataError, "masked probabilities must be 0"),
        (lambda x: x, {"labels": ["a"]}, ShapeError, "must be 5 texts; found 1"),
        (
            lambda x: x[None],
            {"axes": ("layer", "query", "key", "head"), "heads_per_layer": 3},
            SettingError,
            "without a layer axis",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_arrays_that_do_not_fit_are_refused(attention, new_place, change, options, error, words):
    with pytest.raises(error, match=words):
        import_arrays(change(heads(attention, 0)), new_place, **options)


def test_files_that_do_not_fit_together_are_refused(attention, tmp_path):
    np.save(tmp_path / "0.npy", heads(attention, 0))
    np.save(tmp_path / "1.npy", heads(attention, 0)[:4])
    with pytest.raises(ShapeError, match=r"all batches of a run must have the same layers.*number 1 has"):
        import_arrays([tmp_path / "0.npy", tmp_path / "1.npy"], tmp_path / "run.zarr")
    np.savez(tmp_path / "2.npz", logits=heads(attention, 0))
    with pytest.raises(ShapeError, match="all files must hold the same contents"):
        import_arrays([tmp_path / "0.npy", tmp_path / "2.npz"], tmp_path / "run.zarr")


@pytest.mark.parametrize(
    "source",
    [
        None, 5, object(), "", [], [None], [[1.0], [1.0, 2.0]], {}, {"x": None}, {"x": "text"}, {5: None},
        {None: np.ones((2, 2, 1))}.keys(), ["x.npy", 5], np.array(["a"]), np.array([[[1j]]]),
        np.array([[["2020-01-01"]]], dtype="datetime64[D]"), np.zeros((2, 2, 1), dtype=[("a", "f4")]),
        np.array([[[None]]]), np.ma.array(np.ones((2, 2, 1)), mask=True), {"probabilities": {"a": 1}},
    ],
    ids=lambda source: type(source).__name__,
)  # fmt: skip
def test_sources_that_hold_no_attention_are_one_line(source, new_place):
    with pytest.raises(HaarborError, match="must") as caught:
        import_arrays(source, new_place)
    assert "\n" not in str(caught.value)
    assert not new_place.exists()


@pytest.mark.parametrize(
    "options",
    [
        {"axes": None}, {"axes": 5}, {"axes": ("query", 5, "head")}, {"axes": (["query"], "key", "head")},
        {"axes": "query"}, {"heads_per_layer": 1.5}, {"heads_per_layer": "3"}, {"heads_per_layer": True},
        {"heads_per_layer": 10**5000}, {"heads_per_layer": 0}, {"content": 5}, {"content": ["logits"]},
        {"names": 5},
        {"names": {"logits": None}}, {"names": {None: ""}}, {"names": {"logits": ["x"]}}, {"mask": 5},
        {"mask": [["True"]]}, {"mask": np.full((5, 5), "False")}, {"mask": [[True], [True, False]]},
        {"mask": np.ones((5, 5), dtype=object)}, {"labels": 5}, {"labels": [1, 2, 3, 4, 5]},
        {"labels": "abcde"}, {"labels": [None] * 5}, {"pictures": 5}, {"pictures": [None]}, {"pictures": "x"},
        {"pictures": [[[1], [1, 2]]]}, {"model": None}, {"model": 5},
        {"model": "\ud800"}, {"stream": None}, {"stream": 5}, {"stream": "../x"}, {"dtype": None},
        {"dtype": np.array(["float32"])}, {"dtype": np.array("float32")}, {"dtype": "x" * 5000},
        {"content": np.array(["logits"])}, {"content": np.array("logits")}, {"content": np.array([])},
        {"content": "x" * 5000}, {"stream": "x" * 5000}, {"stream": np.array(["self"])},
        {"model": np.array(["a"])}, {"mask": "x" * 5000}, {"settings": np.array([5])}, {"names": "x" * 5000},
        {"dtype": "float64"}, {"settings": 5}, {"settings": {"a": object()}}, {"settings": {"a": np.nan}},
    ],
    ids=lambda options: next(iter(options)),
)  # fmt: skip
def test_options_that_mean_nothing_are_one_line(options, attention, new_place):
    with pytest.raises(HaarborError, match="must") as caught:
        import_arrays(heads(attention, 0), new_place, **options)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    str(caught.value).encode()
    assert not new_place.exists() or open_run(new_place).batches == ()


def test_tensors_that_numpy_cannot_hold_are_one_line(new_place):
    torch = pytest.importorskip("torch")
    for tensor in (
        torch.ones(2, 2, 1, device="meta"),
        torch.ones(2, 2, 1).to_sparse(),
        torch.ones(2, 2, 1).to(torch.float8_e4m3fn),
        torch.ones(2, 2, 1, dtype=torch.complex64),
    ):
        with pytest.raises(ShapeError, match="must") as caught:
            import_arrays(tensor, new_place)
        assert "\n" not in str(caught.value)
