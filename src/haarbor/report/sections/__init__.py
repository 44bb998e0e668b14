"""Parts of the page that are there when the run holds their results, one file each.

A section is a function of a part of a run that gives what its picture needs, or None where the run has
nothing of the kind. Its drawing stands in ``assets/sections`` under
the same name.
"""

from collections.abc import Callable, Mapping
from typing import Any

from haarbor.report.sections._invariance_section import invariance_section
from haarbor.report.sections._network_entropy_section import network_entropy_section
from haarbor.report.sections._stability_section import stability_section
from haarbor.store import RunPart

__all__ = ["SECTIONS"]

SECTIONS: Mapping[str, Callable[[RunPart], dict[str, Any] | None]] = {
    "stability": stability_section,
    "network-entropy": network_entropy_section,
    "invariance": invariance_section,
}
"""Sections by name, in the order of the page."""
