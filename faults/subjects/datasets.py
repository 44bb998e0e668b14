"""Made-up networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import haarbor as hb
from faults.answers import difference
from faults.hostile_settings import spoilt_choice, spoilt_seed, spoilt_whole_number
from faults.spoilt import Spoilt, one_of
from faults.subject import Call, subject

Rng = np.random.Generator


def _small(rng: Rng, good: int) -> Spoilt:
    # Networks of any size asked for are made; endless ones are not what is looked for.
    found = spoilt_whole_number(rng, good)
    wanted = found.value
    return found._replace(value=9) if isinstance(wanted, (int, np.integer)) and wanted > 1000 else found


def _call(rng: Rng, function: Any, law: Any) -> Call:
    return Call(
        function=function,
        arguments={
            "n_tokens": int(rng.integers(1, 9)),
            "n_layers": int(rng.integers(1, 4)),
            "heads_per_layer": int(rng.integers(1, 4)),
            "causal": bool(rng.integers(2)),
            "content": one_of(rng, ("probabilities", "logits")),
            "batch": int(rng.integers(4)),
            "seed": int(rng.integers(100)),
        },
        spoil={
            "n_tokens": _small,
            "n_layers": _small,
            "heads_per_layer": _small,
            "content": spoilt_choice,
            "batch": spoilt_seed,
            "seed": spoilt_seed,
        },
        law=law,
    )


@subject("datasets.synthetic_attention")
def synthetic_attention(rng: Rng) -> Call:
    """Rows of probabilities sum to one; the same seed gives the same network."""

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        if given["content"] == "probabilities" and np.abs(answer.sum(axis=1) - 1).max() > 1e-9:
            return "rows do not sum to one"
        return difference(hb.datasets.synthetic_attention(**given), answer)

    return _call(rng, hb.datasets.synthetic_attention, law)


@subject("datasets.synthetic_network")
def synthetic_network(rng: Rng) -> Call:
    """Probabilities are zero where the mask is closed."""

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        stray = given["content"] == "probabilities" and answer.tensor[~answer.mask].any()
        return "probabilities where the mask is closed" if stray else None

    return _call(rng, hb.datasets.synthetic_network, law)
