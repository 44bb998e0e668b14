"""Runs: arrays imported, plans, readings, results; and results in files of their own."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import haarbor as hb
from faults.answers import difference
from faults.good_values import AXES, causal_mask
from faults.hostile_arrays import spoilt_array
from faults.hostile_settings import (
    spoilt_axes,
    spoilt_choice,
    spoilt_mask,
    spoilt_text,
    spoilt_whole_number,
)
from faults.spoilt import Spoilt, one_of
from faults.stored_sample import STREAM, without_waiting, write_sample
from faults.subject import Call, subject

Rng = np.random.Generator
_NUMBERS = itertools.count()
_ODD_PLACES: tuple[Any, ...] = (
    None, 5, 1.5, b"run.zarr", [], {}, object(), "", "\0", "x" * 5000, "nowhere/at/all.zarr", "/dev/null",
    "memory", "nonsense://place", "://", "file://", "\ud800", "\x1b[2J", np.nan, ("run.zarr",),
    Path("/proc/self/mem"),
)  # fmt: skip


def _new_place() -> Path:
    without_waiting()
    return Path.cwd() / f"place-{next(_NUMBERS)}.zarr"


def _spoilt_place(rng: Rng, good: Any) -> Spoilt:
    return Spoilt("an odd place", one_of(rng, _ODD_PLACES), "either")


@subject("import_arrays")
def import_arrays(rng: Rng) -> Call:
    """What is read back is what was given, in the precision asked for."""
    from haarbor.store import import_arrays as imported

    shape = tuple(int(size) for size in rng.integers(1, 5, size=3))
    mask = causal_mask(shape) if rng.random() < 0.5 else None
    weights = np.exp(rng.normal(size=shape)) * (1 if mask is None else mask[..., None])
    X = weights / weights.sum(axis=1, keepdims=True)

    def read_back(**given: Any) -> Any:
        run = imported(**given)
        return {
            "tensor": np.asarray(run.tensor(0, run.contents[0])),
            "mask": run.mask(0),
            "labels": run.labels(0),
            "damage": run.verify(),
            "repr": repr(run),
        }

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        if answer["damage"]:
            return f"the run is damaged: {answer['damage']}"
        limit = 2e-3 if given["dtype"] == "float16" else 1e-7
        return None if np.allclose(answer["tensor"], X, rtol=limit, atol=1e-7) else "another tensor is read"

    pictures = [rng.integers(0, 256, (2, 3, 3), dtype=np.uint8)] if rng.random() < 0.3 else None
    return Call(
        function=lambda **given: read_back(**{"location": _new_place(), **given}),
        arguments={
            "source": X,
            "axes": AXES,
            "heads_per_layer": shape[2],
            "content": one_of(rng, ("probabilities", None)),
            "mask": mask,
            "labels": [f"t{i}" for i in range(shape[0])] if rng.random() < 0.5 else None,
            "pictures": pictures,
            "model": "arrays",
            "stream": "self",
            "dtype": one_of(rng, ("float32", "float16")),
            "settings": {"note": "x"},
        },
        spoil={
            "source": _spoilt_source,
            "location": _spoilt_place,
            "axes": spoilt_axes,
            "heads_per_layer": lambda rng, good: spoilt_whole_number(rng, good, optional=True),
            "content": lambda rng, good: spoilt_choice(rng, good or "probabilities", optional=True),
            "mask": lambda rng, good: spoilt_mask(rng, good, shape[:2]),
            "labels": _spoilt_labels,
            "pictures": _spoilt_pictures,
            "model": spoilt_text,
            "stream": spoilt_text,
            "dtype": spoilt_choice,
            "settings": _spoilt_settings,
        },
        law=law,
        always=lambda answer, given: "the run is damaged" if answer["damage"] else None,
    )


def _spoilt_source(rng: Rng, good: Any) -> Spoilt:
    if rng.random() < 0.7:
        found = spoilt_array(rng, good)
        # Stored numbers are rounded, and a mapping or a text is read as one of arrays or a file.
        return found._replace(demand="refused" if found.demand == "refused" else "either", exponent=None)
    wrong: tuple[Any, ...] = (
        {}, {"a": good, "b": good}, {"probabilities": good, "logits": good[:-1]}, [], ["nowhere.npy"],
        "nowhere.npz", "", {"probabilities": None}, {5: good}, {"blocks.0.attn.hook_pattern": good},
        {"blocks.x.attn.hook_pattern": good}, {"logits": good * np.nan}, [good, good],
    )  # fmt: skip
    return Spoilt("no arrays", one_of(rng, wrong), "either")


def _spoilt_labels(rng: Rng, good: Any) -> Spoilt:
    wrong = (5, "text", [], ["a"] * 50, [1, 2], [None], {}, object(), ["\ud800"] * 3, np.array(["a"]))
    return Spoilt("no labels", one_of(rng, wrong), "either")


def _spoilt_pictures(rng: Rng, good: Any) -> Spoilt:
    wrong = (
        5,
        "text",
        [],
        [None],
        [np.zeros((2, 2, 3))],
        [np.zeros((300, 2, 3), np.uint8)],
        {},
        [b"x"],
        [[[1]]],
    )
    return Spoilt("no pictures", one_of(rng, wrong), "either")


def _spoilt_settings(rng: Rng, good: Any) -> Spoilt:
    loop: dict[str, Any] = {}
    loop["itself"] = loop
    wrong = (5, "text", {"a": np.nan}, {"a": object()}, {1: 2}, loop, {"a": b"x"}, {"a": np.zeros(3)}, [1],
             {"a": "\ud800"}, {"mode": "\x1b[2J"})  # fmt: skip
    return Spoilt("no settings", one_of(rng, wrong), "either")


@subject("create_run")
def create_run(rng: Rng) -> Call:
    """A run of any plan that is taken can be written and read."""
    from haarbor.store import RunPlan, StreamPlan
    from haarbor.store import create_run as begun

    def written(**given: Any) -> Any:
        sizes = {name: given[name] for name in ("n_layers", "n_heads", "n_queries", "n_keys")}
        stream = StreamPlan(name=given["name"], head_groups=given["head_groups"], **sizes)
        plan = RunPlan(
            model=given["model"], streams=(stream,), n_batches=given["n_batches"], dtype=given["dtype"],
            contents=given["contents"], settings=given["settings"],
        )  # fmt: skip
        place = given["location"] if given["location"] != "new" else _new_place()
        with begun(place, plan) as writer, writer.batch(given["batch"]) as batch:
            batch.write_mask(None, np.ones((stream.n_queries, stream.n_keys), bool))
            for layer in range(stream.n_layers):
                values = np.full(stream.layer_shape, 1 / stream.n_keys)
                batch.write_layer(None, layer, dict.fromkeys(plan.contents, values))
        run = writer.run
        return {"tensor": np.asarray(run.tensor(given["batch"], run.contents[0])), "damage": run.verify()}

    n_heads = int(rng.integers(1, 4))
    return Call(
        function=written,
        arguments={
            "location": "new",
            "name": "self",
            "n_layers": int(rng.integers(1, 3)),
            "n_heads": n_heads,
            "n_queries": int(rng.integers(1, 4)),
            "n_keys": int(rng.integers(1, 4)),
            "head_groups": None,
            "model": "plan",
            "n_batches": 2,
            "dtype": "float32",
            "contents": ("probabilities",),
            "settings": {},
            "batch": 0,
        },
        spoil={
            "location": _spoilt_place,
            "name": spoilt_text,
            "n_layers": _small_number,
            "n_heads": _small_number,
            "n_queries": _small_number,
            "n_keys": _small_number,
            "head_groups": lambda rng, good: Spoilt(
                "odd groups",
                one_of(rng, (5, (), ("a",) * n_heads, (0.5,) * n_heads, (-1,) * n_heads, {})),
                "either",
            ),
            "model": spoilt_text,
            "n_batches": lambda rng, good: _small_number(rng, good, optional=True),
            "dtype": spoilt_choice,
            "contents": lambda rng, good: Spoilt(
                "odd contents",
                one_of(rng, (None, 5, (), "logits", ("x",), good * 2, {"logits"}, [None])),
                "either",
            ),
            "settings": _spoilt_settings,
            "batch": lambda rng, good: spoilt_whole_number(rng, good, least=0),
        },
        always=lambda answer, given: "the run is damaged" if answer["damage"] else None,
    )


def _small_number(rng: Rng, good: Any, *, optional: bool = False) -> Spoilt:
    found = spoilt_whole_number(rng, good, optional=optional)
    wanted = found.value
    # Runs of any size are begun if the disk holds them; endless ones are tried elsewhere.
    return found._replace(value=3) if isinstance(wanted, (int, np.integer)) and wanted > 1000 else found


@functools.cache
def _sample() -> Any:
    without_waiting()
    return hb.open_run(write_sample(Path.cwd() / "sample.zarr"))


@subject("open_run")
def open_run(rng: Rng) -> Call:
    """The run that is there, and no other."""
    place = Path(_sample().location)
    return Call(
        function=lambda location: repr(hb.open_run(location)),
        arguments={"location": place},
        spoil={
            "location": lambda rng, good: Spoilt(
                "no run",
                one_of(rng, (*_ODD_PLACES, place / "decoder", place / "zarr.json", place.parent)),
                "refused",
            )
        },
        law=lambda answer, given: None if answer == repr(_sample()) else "another run",
    )


@subject("Run")
def run_readings(rng: Rng) -> Call:
    """Tensor, mask, labels and picture of a batch, as they were written."""
    run = _sample()

    def read(batch: Any, content: Any, stream: Any) -> Any:
        return {
            "tensor": np.asarray(run.tensor(batch, content, stream)),
            "mask": run.mask(batch, stream),
            "labels": run.labels(batch, stream),
            "picture": run.picture(batch),
            "there": run.has_result("organization", batch=batch, stream=stream),
        }

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        shape = (STREAM.n_queries, STREAM.n_keys, STREAM.n_layers * STREAM.n_heads)
        if answer["tensor"].shape != shape or answer["mask"].shape != shape[:2]:
            return f"shapes {answer['tensor'].shape} and {answer['mask'].shape}"
        return None

    return Call(
        function=read,
        arguments={"batch": int(rng.integers(2)), "content": "probabilities", "stream": "decoder"},
        spoil={
            "batch": lambda rng, good: spoilt_whole_number(rng, good, least=0),
            "content": lambda rng, good: spoilt_choice(rng, good, optional=True),
            "stream": lambda rng, good: spoilt_choice(rng, good, optional=True),
        },
        law=law,
    )


def _values(rng: Rng) -> Any:
    return one_of(
        rng,
        (
            rng.normal(size=(2, 3)),
            np.float32(1.5),
            {"a": np.arange(3), "b": [1, 2.5, "x", None, True]},
            "text",
            5,
            np.zeros((0, 3)),
            {"nested": {"deep": (1, (2, 3))}},
            np.ones(2, bool),
            [],
            hb.PartitionTree([[0, 0], [0, 1]]),
        ),
    )


_ODD_VALUES: tuple[Any, ...] = (
    object(),
    np.array([object()], dtype=object),
    {1: 2},
    {"a": lambda: 1},
    b"bytes",
    1j,
    {"../x": np.ones(2)},
    np.zeros(2, "datetime64[s]"),
    {"a/b": np.ones(2)},
    "\ud800",
    {"\x1b": 1},
    10**400,
    np.float64(np.nan),
    set(),
    np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    {"": 1},
    np.zeros(2, [("a", "f8")]),
    type,
    {"array": np.ones(2), "value": 5, "type": "x"},
    {"__type__": "x"},
    np.longdouble(1.5),
    float("inf"),
)


@subject("run results")
def run_results(rng: Rng) -> Call:
    """What is saved is loaded, under names that stay inside the run."""
    run = _sample()
    home = Path(run.location)

    def kept(value: Any, name: Any, batch: Any) -> Any:
        before = sorted(path.name for path in home.parent.iterdir())
        run.save_result(value, name, batch=batch)
        answer = {
            "value": run.load_result(name, batch=batch),
            "there": run.has_result(name, batch=batch),
            "outside": sorted(path.name for path in home.parent.iterdir()) != before,
            "names": len(run.results()),
        }
        run.delete_result(name, batch=batch)
        return answer

    def always(answer: Any, given: Mapping[str, Any]) -> str | None:
        if answer["outside"]:
            return "something was written outside the run"
        return None if answer["there"] else "saved, and not there"

    value = _values(rng)
    names = (
        None,
        5,
        "",
        "..",
        "../x",
        "a/b",
        "zarr.json",
        "\0",
        "\x1b[2J",
        "x" * 300,
        ".",
        "c.0",
        "\ud800",
        [],
        b"x",
    )
    return Call(
        function=kept,
        arguments={"value": value, "name": "mine", "batch": one_of(rng, (0, 1, None))},
        spoil={
            "value": lambda rng, good: Spoilt("an odd value", one_of(rng, _ODD_VALUES), "either"),
            "name": lambda rng, good: Spoilt("an odd name", one_of(rng, names), "either"),
            "batch": lambda rng, good: Spoilt(
                "no batch", one_of(rng, (7, -1, "0", 1.5, [9], object(), [0, "1"])), "refused"
            ),
        },
        law=lambda answer, given: _other_value(answer["value"], value),
        always=always,
        nan_allowed=("value",),
    )


@subject("results file")
def results_file(rng: Rng) -> Call:
    """What is saved is loaded."""
    from haarbor.store import load_results_file, save_results_file

    value = _values(rng)

    def kept(value: Any, path: Any) -> Any:
        target = f"file-{next(_NUMBERS)}.npz" if path == "new" else path
        return {"value": load_results_file(save_results_file(value, target))}

    return Call(
        function=kept,
        arguments={"value": value, "path": "new"},
        spoil={
            "value": lambda rng, good: Spoilt("an odd value", one_of(rng, _ODD_VALUES), "either"),
            "path": _spoilt_place,
        },
        law=lambda answer, given: _other_value(answer["value"], value),
        nan_allowed=("value",),
    )


def _other_value(found: Any, expected: Any) -> str | None:
    # Lists come back as tuples where nothing tells them apart; numbers of numpy as plain ones.
    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(entry) for entry in value]
        if isinstance(value, Mapping):
            return {key: plain(entry) for key, entry in value.items()}
        one = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
        return value.item() if one else value

    return difference(plain(found), plain(expected))


@functools.cache
def _to_organize() -> Any:
    without_waiting()
    return hb.open_run(write_sample(Path.cwd() / "to-organize.zarr"))


@subject("organize_run")
def organize_run(rng: Rng) -> Call:
    """The entropies of each batch are those of its tensor, organised by itself."""
    run = _to_organize()

    def organized(**given: Any) -> Any:
        found = hb.organize_run(**given)
        return {"raw": [entropy.raw for entropy in found.head_entropies], "content": found.content}

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        for batch, raw in enumerate(answer["raw"]):
            part = run.part(given["content"])
            tensor, mask = np.asarray(part.tensor(batch)), run.mask(batch)
            org = hb.organize(tensor, mask=mask, content=part.content, **given["options"])
            expected = hb.head_entropy(_filled(tensor, mask, part.content), org.trees, given["k"]).raw
            # The package fills masked logits in single precision.
            if not np.allclose(raw, expected, rtol=1e-6):
                return f"batch {batch}: {raw} in place of {expected}"
        return None

    return Call(
        function=organized,
        arguments={
            "run": run,
            "content": one_of(rng, ("probabilities", "logits")),
            "stream": "decoder",
            "options": {"n_iterations": int(rng.integers(1, 3))},
            "k": int(rng.integers(1, 30)),
        },
        spoil={
            "run": lambda rng, good: Spoilt(
                "no run", one_of(rng, (None, 5, "run.zarr", [], object(), good.location)), "refused"
            ),
            "content": lambda rng, good: spoilt_choice(rng, good, optional=True),
            "stream": lambda rng, good: spoilt_choice(rng, good, optional=True),
            "options": lambda rng, good: Spoilt(
                "odd options",
                one_of(rng, (5, "x", [1], {"n_iterations": 0}, {"nonsense": 1}, {"alpha": "x"}, {1: 2})),
                "refused",
            ),
            "k": _small_number,
        },
        law=law,
    )


def _filled(tensor: Any, mask: Any, content: str) -> Any:
    """Logits have the mean of their row where they are masked; probabilities are 0 there already."""
    if content == "probabilities":
        return tensor
    wide = tensor.astype(np.float64)
    means = np.where(mask[:, :, None], wide, 0).sum(axis=1, keepdims=True) / mask.sum(axis=1)[:, None, None]
    return np.where(mask[:, :, None], wide, means)
