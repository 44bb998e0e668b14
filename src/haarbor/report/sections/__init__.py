"""Sections of the page that appear if the run holds their results, one file per section.

A section is a function of a part of a run. It returns what its pictures need, or None if the run does not
hold it. The script that draws it has the same name, in ``assets/sections``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from haarbor.report.sections._collapse_section import collapse_section
from haarbor.report.sections._diagnostics_section import diagnostics_section
from haarbor.report.sections._invariance_section import invariance_section
from haarbor.report.sections._network_entropy_section import network_entropy_section
from haarbor.report.sections._networks_section import networks_section
from haarbor.report.sections._pruning_section import pruning_section
from haarbor.report.sections._stability_section import stability_section
from haarbor.report.sections._training_section import training_section
from haarbor.store import RunPart

__all__ = ["SECTIONS"]

SECTIONS: Mapping[str, Callable[[RunPart], dict[str, Any] | None]] = {
    "diagnostics": diagnostics_section,
    "stability": stability_section,
    "network-entropy": network_entropy_section,
    "invariance": invariance_section,
    "collapse": collapse_section,
    "pruning": pruning_section,
    "networks": networks_section,
    "training": training_section,
}
"""Sections by name, in the order of the page."""
