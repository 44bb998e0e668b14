"""What tells heads by their attention, or by the network itself."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import haarbor as hb
from faults.hostile_settings import spoilt_choice, spoilt_mask, spoilt_seed, spoilt_whole_number
from faults.small_network import small_gpt2
from faults.spoilt import Spoilt, one_of
from faults.stored_sample import without_waiting, write_sample
from faults.subject import Call, subject

Rng = np.random.Generator
_NUMBERS = itertools.count()


@functools.cache
def _network() -> Any:
    without_waiting()
    return small_gpt2()


def _figures(found: Any) -> dict[str, Any]:
    return {name: np.asarray(values) for name, values in found.figures.items()}


def _spoilt_attention(rng: Rng, good: Any) -> Spoilt:
    holes = good.copy()
    holes[0, 0, 0] = np.nan
    negative = good.copy()
    negative[-1, 0, 0] = -0.5
    wrong: tuple[Any, ...] = (
        None, 5, "attention", [], [[]], [[1.0], [1.0, 2.0]], good[0], good[..., None], 3 * good, holes,
        negative, good.astype(complex), good.astype(object), good.astype("U8"), good[:0], {}, object(),
        good * np.inf,
    )  # fmt: skip
    return Spoilt("no attention", one_of(rng, wrong), "refused")


@subject("attention_diagnostics")
def attention_diagnostics(rng: Rng) -> Call:
    """Shares lie between 0 and 1; of heads that only look at the token before, that share is 1."""
    n_tokens = int(rng.integers(3, 9))
    mask = np.tri(n_tokens, dtype=bool)
    scores = np.where(mask[..., None], rng.random((n_tokens, n_tokens, 3)), 0)
    tensor = scores / scores.sum(axis=1, keepdims=True)
    tensor[..., 0] = np.eye(n_tokens, k=-1)
    tensor[0, 0, 0] = 1.0

    def diagnosed(**given: Any) -> Any:
        # There is no next token behind a causal mask: NaN is the answer then.
        figures = _figures(hb.attention_diagnostics(**given))
        return {name: np.nan_to_num(values) for name, values in figures.items()}

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        shares = [answer[name] for name in ("previous_token", "first_token", "diagonal")]
        fair = all((share >= 0).all() and (share <= 1 + 1e-6).all() for share in shares)
        known = abs(answer["previous_token"][0] - 1) < 1e-6
        return None if fair and known else f"shares {shares}"

    texts = [f"w{number}" for number in range(n_tokens)]
    odd_labels = (None, 5, "ab", [], [texts], (texts[1:], texts), (5, 5), {}, object())
    return Call(
        function=diagnosed,
        arguments={"tensor": tensor, "mask": mask, "same_sequence": True, "labels": (texts, texts)},
        spoil={
            "tensor": _spoilt_attention,
            "mask": lambda rng, good: spoilt_mask(rng, good, good.shape),
            "same_sequence": lambda rng, good: Spoilt(
                "no yes or no", one_of(rng, (None, 5, "yes", [], np.nan)), "refused"
            ),
            "labels": lambda rng, good: Spoilt("odd labels", one_of(rng, odd_labels), "refused"),
        },
        law=law,
    )


@subject("run_diagnostics")
def run_diagnostics(rng: Rng) -> Call:
    """Every batch of a run has them, and asking again changes nothing."""
    without_waiting()
    run = hb.open_run(write_sample(Path.cwd() / f"diagnosed-{next(_NUMBERS)}.zarr"))

    def diagnosed(**given: Any) -> Any:
        found = hb.run_diagnostics(**given)
        again = hb.run_diagnostics(**given)
        same = all(
            np.array_equal(one.figures[name], two.figures[name], equal_nan=True)
            for one, two in zip(found, again, strict=True)
            for name in one.figures
        )
        return {"n": len(found), "same": same}

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        return None if answer == {"n": len(run.batches), "same": True} else f"{answer}"

    return Call(
        function=diagnosed,
        arguments={"run": run, "stream": "decoder"},
        spoil={
            "run": lambda rng, good: Spoilt(
                "no run", one_of(rng, (None, 5, "run.zarr", [], {}, object(), [good])), "refused"
            ),
            "stream": lambda rng, good: spoilt_choice(rng, good, optional=True),
        },
        law=law,
    )


@subject("head_diagnostics")
def head_diagnostics(rng: Rng) -> Call:
    """Scores on repeated tokens are shares, and the network is left as it was."""
    model, batches = _network()
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}

    def diagnosed(**given: Any) -> Any:
        found = hb.head_diagnostics(**given)
        return {
            "figures": _figures(found),
            "weights": all((weights[name] == weight).all() for name, weight in model.state_dict().items()),
            "hooks": sum(len(module._forward_hooks) for module in model.modules()),
        }

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        shares = answer["figures"]["induction"]
        return None if ((shares >= 0) & (shares <= 1)).all() else f"induction {shares}"

    def always(answer: Any, given: Mapping[str, Any]) -> str | None:
        if not answer["weights"] or answer["hooks"]:
            return f"weights kept {answer['weights']}, hooks {answer['hooks']}"
        return None

    odd_ids = (5.5, "abc", [], [0.5], [-1], [[None]], {}, object(), [10**30], [10_000])
    return Call(
        function=diagnosed,
        arguments={
            "model": model,
            "batches": batches,
            "vocabulary": [1, 2, 3, 4, 5],
            "period": int(rng.integers(2, 5)),
            "n_repeated": 1,
            "seed": int(rng.integers(100)),
        },
        spoil={
            "model": lambda rng, good: Spoilt(
                "no model", one_of(rng, (None, 5, "gpt2", object(), [])), "refused"
            ),
            "batches": lambda rng, good: Spoilt(
                "no batches", one_of(rng, (None, 5, "text", [], [[]], [None], {}, [{}], iter([]))), "refused"
            ),
            "vocabulary": lambda rng, good: Spoilt("odd ids", one_of(rng, odd_ids), "refused"),
            "period": lambda rng, good: spoilt_whole_number(rng, good, least=2, optional=True),
            "n_repeated": spoilt_whole_number,
            "seed": spoilt_seed,
        },
        law=law,
        always=always,
    )
