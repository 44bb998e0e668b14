"""What the page holds of a run: small values as JSON, large arrays packed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.analysis import head_geometry, head_scores
from haarbor.errors import DataError
from haarbor.report._organized import missing_result
from haarbor.report._overview import overview_sentences
from haarbor.report._packed_geometry import geometry_blobs, geometry_data
from haarbor.report._packing import packed_text, plain_numbers
from haarbor.report._provenance import run_settings
from haarbor.report._run_name import run_name
from haarbor.report._shown_batches import shown_batches
from haarbor.report.sections import SECTIONS
from haarbor.store import RunPart

__all__ = ["RunPayload", "run_payload"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunPayload:
    """What the page holds of a run."""

    data: Mapping[str, Any]
    """Values for JSON."""
    texts: Mapping[str, str]
    """Large arrays, packed, by name."""


def run_payload(part: RunPart, n_batches: int | None, room: int) -> RunPayload:
    """Gather what the page needs of a run.

    Parameters
    ----------
    part : RunPart
        Organised.
    n_batches : int or None
        How many batches come with their matrices, counted from the first; None for as many as there is
        room for, at least one.
    room : int
        How many letters the run may take in the page, where `n_batches` is None.

    Returns
    -------
    RunPayload

    Raises
    ------
    DataError
        If the run has no batches, or has not been organised.
    """
    run, batches = part.run, part.batches
    if not batches:
        raise DataError("the run must have at least one complete batch; it has none. Capture again.")
    lacking = missing_result(part, n_batches)
    if lacking is not None:
        raise DataError(
            f"the run must be organised before it is reported; its {lacking} is missing or damaged. "
            "Run haarbor organize, or call haarbor.analysis.organize_run."
        )
    sizes = part.sizes
    scores = head_scores(part)
    each_batch = [{s.name: s for s in head_scores(part, batch=batch)} for batch in batches]
    geometry = head_geometry(part.load_result("consensus"))
    stability = part.load_result("ranking-stability")
    texts = {f"geometry-{name}": packed_text(blob) for name, blob in geometry_blobs(geometry).items()}
    sections = {name: section(part) for name, section in SECTIONS.items()}
    data = {
        "name": run_name(run),
        "model": run.model,
        "content": part.content,
        "stream": part.stream if len(run.streams) > 1 else None,
        "labels": run.plan.labels,
        "layers": sizes.n_layers,
        "heads_per_layer": sizes.n_heads,
        "head_groups": None
        if sizes.head_groups is None
        else [sizes.groups_of_layer(layer) for layer in range(sizes.n_layers)],
        "batches": list(batches),
        "scores": [
            {
                "name": score.name,
                "label": score.label,
                "plain": score.plain,
                "meaning": score.meaning,
                "high": score.high_means,
                "low": score.low_means,
                "group": score.group,
                "compares": score.compares,
                "values": score.values,
                "by_batch": [batch[score.name].values for batch in each_batch]
                if all(score.name in batch for batch in each_batch)
                else None,
            }
            for score in scores
        ],
        "geometry": geometry_data(geometry),
        "overview": overview_sentences(part, scores, geometry, stability),
        "sections": {name: found for name, found in sections.items() if found is not None},
        "settings": run_settings(part),
        "median_distance": _median_distance(geometry.distances),
    }
    plain = plain_numbers(data)
    room -= len(json.dumps(plain)) + sum(map(len, texts.values()))
    shown = shown_batches(part, n_batches, room)
    plain["shown"] = plain_numbers(shown.data)
    return RunPayload(data=plain, texts={**texts, **shown.texts})


def _median_distance(distances: Any) -> float:
    pairs = distances[np.triu_indices(distances.shape[0], 1)]
    return float(np.median(pairs)) if pairs.size else 0.0
