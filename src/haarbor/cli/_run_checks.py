"""Checks of what a command needs of a run, made before the work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from haarbor.cli._output_place import require_open_folder
from haarbor.errors import DataError, SettingError
from haarbor.head_labels import head_label
from haarbor.store import Run

__all__ = ["require_batches", "require_heads", "require_writable"]


def require_batches(run: Run) -> None:
    """Raise unless the run has at least one complete batch."""
    if not run.batches:
        raise DataError(
            f"the run must have at least one complete batch; {run.location} has none. Capture it again."
        )


def require_heads(run: Run, stream: str | None, heads: Sequence[str]) -> list[int]:
    """Return the numbers of heads written as layer.head; raise unless each is in the run and given once."""
    sizes = run.plan.stream(stream)
    places = []
    for head in heads:
        written = re.fullmatch(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})", head)
        layer, place = (int(written[1]), int(written[2])) if written else (-1, -1)
        if not (0 <= layer < sizes.n_layers and 0 <= place < sizes.n_heads):
            last = head_label(sizes.n_layers - 1, sizes.n_heads - 1)
            raise SettingError(
                f"--heads must be written layer.head, from 0.0 to {last}; found {head!r}. "
                "Put commas between them."
            )
        places.append(layer * sizes.n_heads + place)
    if not places or len(set(places)) < len(places):
        raise SettingError(
            f"--heads must be different ones, at least one; found {', '.join(heads) or 'none'}."
            " Write them as layer.head, with commas between them."
        )
    return places


def require_writable(run: Run) -> None:
    """Raise unless results can be written into the run; runs on other machines are not checked."""
    if "://" in run.location:
        return
    try:
        require_open_folder(Path(run.location))
    except OSError as error:
        raise SettingError(
            f"results are kept in the run, which must be a folder that can be written; {run.location}: "
            f"{error.strerror or error}. Change its permissions, or copy it to another place."
        ) from None
