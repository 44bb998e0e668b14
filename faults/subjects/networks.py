"""What runs a network: capture, ablate, and loading a pruned one."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import haarbor as hb
from faults.hostile_settings import spoilt_choice, spoilt_seed, spoilt_text, spoilt_whole_number
from faults.small_network import small_gpt2
from faults.spoilt import Spoilt, one_of
from faults.stored_sample import without_waiting
from faults.subject import Call, subject

Rng = np.random.Generator
_NUMBERS = itertools.count()


@functools.cache
def _network() -> Any:
    without_waiting()
    return small_gpt2()


def _spoilt_batches(rng: Rng, good: Any) -> Spoilt:
    import torch

    ids = good[0]["input_ids"]
    wrong: tuple[Any, ...] = (
        None, 5, "text", [], [[]], [None], ["text"], {}, [{}], [{"input_ids": None}], [{"nonsense": ids}],
        [{"input_ids": ids.float()}], [{"input_ids": ids * 0 + 10_000}], [{"input_ids": ids * 0 - 1}],
        [{"input_ids": ids[:, :0]}], [{"input_ids": ids[:0]}], [{"input_ids": ids[0]}],
        [{"input_ids": torch.tensor(3)}], [{"input_ids": ids, "attention_mask": ids[:, :1]}],
        [torch.zeros(2, 3)], [object()], [{5: ids}], [ids.to("meta")], [ids.to_sparse()], np.array([["a"]]),
        [{"input_ids": ids, "attention_mask": ids * 0}],
        [{"input_ids": torch.zeros(1, 1000, dtype=torch.long)}],
        [{"input_ids": ids}, {"input_ids": ids[:, :3]}], [{"input_ids": [[1, 2], [3]]}], iter([]),
        [{"input_ids": ids, "labels": "x"}], [{"input_ids": ids.tolist()}],
    )  # fmt: skip
    return Spoilt("odd batches", one_of(rng, wrong), "either")


def _spoilt_model(rng: Rng, good: Any) -> Spoilt:
    import torch

    def in_training() -> Any:
        return small_gpt2()[0].train()

    wrong = (
        lambda: None,
        lambda: 5,
        lambda: "gpt2",
        lambda: torch.nn.Linear(2, 2).eval(),
        in_training,
        lambda: object(),
    )
    return Spoilt("no model that fits", one_of(rng, wrong)(), "refused")


@subject("load_model")
def load_model(rng: Rng) -> Call:
    """An embedded network in eval mode, in the type and on the device asked for."""

    def loaded(**given: Any) -> Any:
        found = hb.load_model(**given)
        weight = next(found.model.parameters())
        return {"eval": not found.model.training, "dtype": str(weight.dtype), "device": str(weight.device)}

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        wanted = {"eval": True, "dtype": f"torch.{given['dtype']}", "device": given["device"]}
        return None if answer == wanted else f"{answer} in place of {wanted}"

    names = (
        None,
        5,
        "",
        "\0",
        "no/such/folder",
        "zoo:",
        "zoo:nothing",
        b"x",
        [],
        "\ud800",
        "x" * 5000,
        "/dev/null",
    )
    return Call(
        function=loaded,
        arguments={
            "name_or_path": "zoo:vision-transformer",
            "dtype": one_of(rng, ("float32", "float64")),
            "device": "cpu",
        },
        spoil={
            "name_or_path": lambda rng, good: Spoilt("no model", one_of(rng, names), "refused"),
            "dtype": lambda rng, good: Spoilt(
                "no type of numbers",
                one_of(rng, (5, "x", b"float32", [], object(), "int64", "\ud800")),
                "refused",
            ),
            "device": lambda rng, good: Spoilt(
                "no device", one_of(rng, (None, 5.5, "x", "tpu9", b"cpu", [], object(), "cuda:99")), "refused"
            ),
        },
        law=law,
    )


@subject("capture")
def capture(rng: Rng) -> Call:
    """Rows of probabilities sum to one, and the run is whole."""
    model, batches = _network()
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}

    def captured(**given: Any) -> Any:
        place = given.pop("location")
        place = Path.cwd() / f"captured-{next(_NUMBERS)}.zarr" if place == "new" else place
        run = hb.capture(location=place, **given)
        return {
            "tensors": [np.asarray(run.tensor(batch)) for batch in run.batches],
            "damage": run.verify(),
            "weights": all((weights[name] == weight).all() for name, weight in model.state_dict().items()),
            "hooks": sum(len(module._forward_hooks) for module in model.modules()),
        }

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        off = max(np.abs(tensor.sum(axis=1) - 1).max() for tensor in answer["tensors"])
        return None if off < 1e-2 else f"rows of probabilities are off one by {off:g}"

    def always(answer: Any, given: Mapping[str, Any]) -> str | None:
        if answer["damage"] or not answer["weights"] or answer["hooks"]:
            return f"damage {answer['damage']}, weights kept {answer['weights']}, hooks {answer['hooks']}"
        return None

    places = (None, 5, "", "\0", "/dev/null/x", "nonsense://place", b"x", [], "\ud800")
    return Call(
        function=captured,
        arguments={
            "model": model,
            "batches": batches,
            "location": "new",
            "content": one_of(rng, (("probabilities",), ("probabilities", "logits"))),
            "mode": one_of(rng, ("faithful", "transparent")),
            "dtype": one_of(rng, ("float32", "float16")),
            "name": "tiny",
            "settings": {"seed": 1},
        },
        spoil={
            "model": _spoilt_model,
            "batches": _spoilt_batches,
            "location": lambda rng, good: Spoilt("an odd place", one_of(rng, places), "refused"),
            "content": lambda rng, good: Spoilt(
                "odd contents", one_of(rng, (None, 5, (), "logits", ("x",), good * 2, [None])), "refused"
            ),
            "mode": spoilt_choice,
            "dtype": spoilt_choice,
            "name": spoilt_text,
            "settings": lambda rng, good: Spoilt(
                "odd settings", one_of(rng, (5, "x", {"a": object()}, {"a": np.nan}, {1: 2}, [1])), "either"
            ),
        },
        law=law,
        always=always,
    )


@subject("analyze")
def analyze(rng: Rng) -> Call:
    """Results of every batch, and no attention."""
    model, batches = _network()

    def analyzed(**given: Any) -> Any:
        place = given.pop("location")
        place = Path.cwd() / f"analyzed-{next(_NUMBERS)}.zarr" if place == "new" else place
        run = hb.analyze(location=place, **given)
        return {"entropies": [run.load_result("head-entropy", batch=batch).raw for batch in run.batches]}

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        fair = len(answer["entropies"]) == len(batches) and all(
            np.isfinite(values).all() for values in answer["entropies"]
        )
        return None if fair else f"{answer}"

    places = (None, 5, "", "\0", "/dev/null/x", "nonsense://place", b"x", [], "\ud800")
    odd_options = (5, "x", {"tree": "haar"}, {"engine": "cluster"}, {"nonsense": 1}, {"n_iterations": 0}, [1])
    return Call(
        function=analyzed,
        arguments={
            "model": model,
            "batches": batches,
            "location": "new",
            "options": {"n_iterations": 1},
            "k": int(rng.integers(1, 400)),
            "network_k": int(rng.integers(1, 100)),
            "memory": "1GB",
        },
        spoil={
            "model": _spoilt_model,
            "batches": _spoilt_batches,
            "location": lambda rng, good: Spoilt("an odd place", one_of(rng, places), "refused"),
            "options": lambda rng, good: Spoilt("odd options", one_of(rng, odd_options), "refused"),
            "k": spoilt_whole_number,
            "network_k": spoilt_whole_number,
            "memory": lambda rng, good: Spoilt(
                "odd memory", one_of(rng, ("x", "", "-1GB", "0", 0, -5, 1.5, [], {}, "1B", np.nan)), "refused"
            ),
        },
        law=law,
    )


@subject("rank_collapse")
def rank_collapse(rng: Rng) -> Call:
    """Residuals lie between their lower bound and 1 with the best vector; the network is left as it was."""
    model, batches = _network()
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}

    def collapsed(**given: Any) -> Any:
        found = hb.rank_collapse(**given)
        return {
            "figures": {name: np.asarray(values) for name, values in found.figures.items()},
            "weights": all((weights[name] == weight).all() for name, weight in model.state_dict().items()),
            "hooks": sum(
                len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()
            ),
        }

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        figures = answer["figures"]
        least, composite, frobenius = (
            figures[name] for name in ("composite_least", "composite", "frobenius")
        )
        fair = (least <= composite * (1 + 1e-9)).all() and (frobenius >= 0).all() and (frobenius <= 1).all()
        return None if fair else "a residual is below its bound, or beyond 1"

    def always(answer: Any, given: Mapping[str, Any]) -> str | None:
        if not answer["weights"] or answer["hooks"]:
            return f"weights kept {answer['weights']}, hooks {answer['hooks']}"
        return None

    odd_variants = (5, "no skips", (), ("x",), [None], ("as it is", "x"), {}, object())
    return Call(
        function=collapsed,
        arguments={"model": model, "batches": batches, "variants": ("as it is",)},
        spoil={
            "model": _spoilt_model,
            "batches": _spoilt_batches,
            "variants": lambda rng, good: Spoilt("odd variants", one_of(rng, odd_variants), "refused"),
        },
        law=law,
        always=always,
    )


@subject("ablate")
def ablate(rng: Rng) -> Call:
    """Without any head removed nothing changes; what is removed comes back."""
    model, batches = _network()
    removed = [(int(rng.integers(2)), int(rng.integers(2)))]

    def ablated(**given: Any) -> Any:
        found = hb.ablate(**given)
        whole = hb.ablate(model, [], batches=batches)
        return {"value": found.value, "damage": found.damage, "whole": whole.damage}

    wrong_heads: tuple[Any, ...] = (
        None,
        "all",
        [(9, 0)],
        [(0, 9)],
        [(-1, 0)],
        [99],
        [-1],
        [1.5],
        [("a", "b")],
        {0: 0},
        np.ones(3, bool),
        np.nan,
        [(0, 0, 0)],
        [[0], [1, 2]],
        object(),
        [None],
        [2**70],
        np.ones((2, 2)),
        [(0.5, 1)],
        [True],
    )
    return Call(
        function=ablated,
        arguments={
            "model": model,
            "removed": removed,
            "batches": batches,
            "metric": "loss",
            "replacement": "zero",
        },
        spoil={
            "model": _spoilt_model,
            "removed": lambda rng, good: Spoilt("no heads", one_of(rng, wrong_heads), "either"),
            "batches": _spoilt_batches,
            "metric": spoilt_choice,
            "replacement": spoilt_choice,
        },
        always=lambda answer, given: None if answer["whole"] == 0 else "the network is not whole afterwards",
    )


@subject("heal")
def heal(rng: Rng) -> Call:
    """A copy is trained; the network itself is left as it was."""
    model, batches = _network()
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}

    def healed(**given: Any) -> Any:
        found = hb.heal(**given)
        return {
            "losses": found.losses,
            "weights": all((weights[name] == weight).all() for name, weight in model.state_dict().items()),
        }

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        whole = answer["weights"] and answer["losses"].shape == (given["steps"],)
        return None if whole else f"weights kept {answer['weights']}, losses {answer['losses']}"

    no_count = (None, 0, -1, 1.5, "1", [], True, np.nan, object())
    no_rate = (None, 0.0, -1e-4, np.nan, np.inf, "1", [], 1j, object())
    return Call(
        function=healed,
        arguments={
            "model": model,
            "calibration": batches,
            "steps": int(rng.integers(1, 3)),
            "learning_rate": 1e-4,
            "seed": int(rng.integers(100)),
        },
        spoil={
            "model": _spoilt_model,
            "calibration": _spoilt_batches,
            "steps": lambda rng, good: Spoilt("no count of steps", one_of(rng, no_count), "refused"),
            "learning_rate": lambda rng, good: Spoilt("no rate", one_of(rng, no_rate), "refused"),
            "seed": spoilt_seed,
        },
        law=law,
    )


@functools.cache
def _pruned_folder() -> Path:
    from haarbor.pruning import model_batches, network_heads, prune_heads, save_pruned

    model, batches = _network()
    batch = model_batches(batches)[0]
    heads = network_heads(model, batch)
    folder = Path.cwd() / "pruned"
    save_pruned(folder, prune_heads(model, heads, [(0, 1)], batch=batch), heads, [(0, 1)])
    return folder


@subject("load_pruned")
def load_pruned(rng: Rng) -> Call:
    """The network that was pruned; anything but its folder is refused."""
    wrong: tuple[Any, ...] = (
        None, 5, "", "\0", "nowhere", "/dev/null", b"x", [], "\ud800", "\x1b[2J", "x" * 5000, Path("/"), {},
    )  # fmt: skip

    def answer(folder: Any) -> Any:
        _, batches = _network()
        return hb.load_pruned(folder)(**batches[0]).logits.detach().numpy()

    return Call(
        function=answer,
        arguments={"folder": _pruned_folder()},
        spoil={"folder": lambda rng, good: Spoilt("no folder", one_of(rng, wrong), "refused")},
        law=lambda answer, given: None if answer.shape == (1, 6, 23) else f"shape {answer.shape}",
    )
