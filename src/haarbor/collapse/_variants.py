"""Networks without some of their parts, by name."""

from __future__ import annotations

__all__ = ["VARIANTS"]

VARIANTS: dict[str, frozenset[str]] = {
    "as it is": frozenset(),
    "no skips": frozenset({"skips"}),
    "no MLPs": frozenset({"mlps"}),
    "no skips, no MLPs": frozenset({"skips", "mlps"}),
    "no normalisation": frozenset({"norms"}),
    "attention alone": frozenset({"skips", "mlps", "norms"}),
}
"""What is switched off, by the name of the variant."""
