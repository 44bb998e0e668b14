"""The options of haarbor capture by which messages name what differs between two runs."""

from __future__ import annotations

from collections.abc import Mapping

from haarbor.errors import StoreError
from haarbor.store import RunPlan

__all__ = ["CAPTURE_WORDS", "require_same_flags"]

CAPTURE_WORDS: Mapping[str, str] = {
    "model": "the model {}",
    "configuration": "the configuration {}",
    "heads": "attention of {}",
    "keeps": "{}",
    "pool": "--pool {}",
    "tokens": "--tokens {}",
    "keys": "{} keys per batch",
    "batches": "--batches {}",
    "dtype": "--dtype {}",
    "labels": "--data with labels of {}",
    "data": "--data that is {!r}",
    "data_content": "--data whose content is {!s:.19}",
    "mode": "--mode {}",
    "seed": "--seed {}",
    "model_dtype": "weights of {}",
    "leave_out": "--leave-out {}",
    "groups": "--groups {}",
    "place": "another --out",
}
"""How messages of the command line name each thing that `haarbor.capturing.continued_plan` compares."""


def require_same_flags(there: RunPlan, here: RunPlan, out: str) -> None:
    """Refuse to continue a run with other flags, for flags that change several parts of the plan.

    Parameters
    ----------
    there, here : RunPlan
        Plan of the run that was begun, and of what is to be captured now.
    out : str
        As given on the command line.

    Raises
    ------
    StoreError
    """
    if there.model != here.model or there.config_digest != here.config_digest:
        return
    for flag in ("logits", "memory", "lines"):
        was, now = _flag(there, flag), _flag(here, flag)
        if was != now:
            words = {True: f"--{flag}", False: f"--no-{flag}"}
            raise _otherwise(out, words[was], words[now])
    targets = [plan.settings.get("target") for plan in (there, here)]
    if None not in targets and targets[0] != targets[1]:
        raise _otherwise(out, *(f"a decoder that reads {target}" for target in targets))
    answers = [plan.settings.get("generate") for plan in (there, here)]
    if answers[0] != answers[1]:
        raise _otherwise(out, *("no --generate" if n is None else f"--generate {n}" for n in answers))


def _otherwise(out: str, was: str, now: str) -> StoreError:
    return StoreError(
        f"a run is continued as it was begun; {out} was begun with {was}, and this is with {now}. "
        "Use the same, or choose another --out."
    )


def _flag(plan: RunPlan, flag: str) -> bool:
    if flag == "logits":
        return "logits" in plan.contents
    traces = {"memory": "tokens before it in memory", "lines": "one document a line"}
    return traces[flag] in str(plan.settings.get("data", ""))
