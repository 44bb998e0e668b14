"""Where a page comes from: settings and versions."""

from __future__ import annotations

from typing import Any

from haarbor.analysis import question_before
from haarbor.store import RunPart
from haarbor.version import installed_versions

__all__ = ["library_versions", "run_settings"]


def run_settings(part: RunPart) -> dict[str, Any]:
    """What the run was captured and organised with."""
    plan = part.run.plan
    question = question_before(part)
    organization = part.load_result("organization", batch=part.batches[0])
    settings = organization.settings
    organised = {name: getattr(settings, name) for name in settings.__slots__}
    return {
        "captured": {
            "model": plan.model,
            "configuration": plan.config_digest,
            "stored as": plan.dtype,
            **{name: value for name, value in plan.settings.items() if name != "command"},
        },
        "organised": {name: _words(value) for name, value in organised.items()},
        "scored": {"functions per head": question.k, "functions of the network": question.network_k},
        "captured with": dict(plan.library_versions),
    }


def library_versions() -> dict[str, str]:
    """Versions of the libraries that make the page."""
    return installed_versions(("numpy", "plotly", "scipy", "zarr"))


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_words(item)}" for name, item in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_words, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
