"""The options a run was organised with, all written out, so that they can be compared."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from haarbor.engines import engine_named
from haarbor.errors import HaarborError, SettingError
from haarbor.options import found_text, require_whole_number
from haarbor.questionnaire import Organization, QuestionnaireSettings, organize
from haarbor.store import RunPart
from haarbor.transport import exponent_by_axis
from haarbor.wavelets import HeadEntropy, NetworkEntropy

__all__ = ["Question", "question_before"]

_AXES = ("query", "key", "head")
_DEFAULTS: Mapping[str, Any] = {
    name: parameter.default
    for name, parameter in inspect.signature(organize).parameters.items()
    if name not in ("X", "axes", "engine", "mask", "content", "memory", "on_plan")
}
"""Options that the trees depend on; the engine that computes them is not one of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Options of the questionnaire and of the entropies; two are equal if they mean the same."""

    options: Mapping[str, Any]
    """Every option of :func:`haarbor.organize` that the trees depend on."""
    k: int
    """How many Haar functions the entropies of the heads sum over."""
    network_k: int
    """How many Haar functions the entropy of the network sums over."""

    @classmethod
    def asked(cls, options: Mapping[str, Any] | None = None, k: int = 400, network_k: int = 100) -> Question:
        """Question with all options written out: defaults filled in, plain numbers, one exponent per axis.

        Parameters
        ----------
        options : mapping, optional
            Options of :func:`haarbor.organize`; ``engine`` may be among them and is left out.
        k, network_k : int

        Raises
        ------
        SettingError
            If an option is not known or has a value that is not offered.

        Examples
        --------
        >>> Question.asked({"alpha": 0}) == Question.asked({"n_iterations": 3, "engine": "cpu"})
        True
        """
        if options is not None and not isinstance(options, Mapping):
            raise SettingError(
                f"options must be a mapping, from names to values; found {found_text(options)}. "
                'Write them as {"n_iterations": 3}.'
            )
        given = dict(options or {})
        engine_named(given.pop("engine", "auto"))
        unknown = [name for name in given if name not in _DEFAULTS]
        if unknown:
            raise SettingError(
                f"options must be among {', '.join([*_DEFAULTS, 'engine'])}; found {found_text(unknown[0])}. "
                "See haarbor.organize for what they mean."
            )
        values = {**_DEFAULTS, **given}
        if not isinstance(values["start"], str) or values["start"] == "given":
            raise SettingError(
                "start must be 'auto', 'order' or 'affinity' for a run, whose batches differ; found "
                f"{found_text(values['start'])}. Pass trees to haarbor.organize instead."
            )
        for name in ("alpha", "beta"):
            values[name] = exponent_by_axis(name, values[name], _AXES)
        settings = QuestionnaireSettings(
            axes=_AXES, engine="cpu", precision="float32", masked_entries="unmasked", **values
        )
        return cls(
            options={name: getattr(settings, name) for name in _DEFAULTS},
            k=require_whole_number("k", k, 1),
            network_k=require_whole_number("network_k", network_k, 1),
        )

    @classmethod
    def kept(cls, value: Any) -> Question | None:
        """Question stored by :meth:`to_result` of this or an earlier version; None if it cannot be read."""
        try:
            # Earlier versions kept the options as the user wrote them, with the engine among them.
            options = {name: option for name, option in value["options"].items() if name != "engine"}
            return cls.asked(options, value["k"], value["network_k"])
        except (HaarborError, TypeError, KeyError, AttributeError):
            return None

    @property
    def changed_options(self) -> dict[str, Any]:
        """Options that are not the default ones; of a builder that is not the default, not its usual ones."""
        builder = {name: self.options[name] for name in ("tree",) if self.options[name] != _DEFAULTS[name]}
        usual = Question.asked(builder).options
        return {**builder, **{name: value for name, value in self.options.items() if value != usual[name]}}

    def to_result(self) -> dict[str, Any]:
        """Plain mapping that a run can keep, also the arguments of ``organize_run``."""
        return {"options": dict(self.options), "k": self.k, "network_k": self.network_k}


def question_before(part: RunPart) -> Question:
    """Options that a part of a run was organised with before; the default ones if it was not.

    They are those of the first batch that has kept them.
    """
    damaged = []
    for batch in part.batches:
        kept = part.kept_result("asked", batch=batch)
        note = Question.kept(kept.value)
        if note is not None:
            return note
        if kept.state == "damaged":
            damaged.append(batch)
    for batch in damaged:
        # The kept options are damaged, but the results made with them still hold most of them.
        names = ("organization", "head-entropy", "network-entropy")
        org, heads, network = (part.kept_result(name, batch=batch).value for name in names)
        if isinstance(org, Organization):
            usual = Question.asked()
            return Question.asked(
                {name: getattr(org.settings, name) for name in _DEFAULTS},
                _asked_functions(heads, usual.k),
                _asked_functions(network, usual.network_k),
            )
    return Question.asked()


def _asked_functions(entropy: object, usual: int) -> int:
    """Number of functions that an entropy was asked to sum over, as far as it can be known."""
    if not isinstance(entropy, HeadEntropy | NetworkEntropy):
        return usual
    # Where the entropy sums over all functions, more may have been asked for than there are.
    return entropy.k if entropy.k < entropy.n_functions else max(entropy.k, usual)
