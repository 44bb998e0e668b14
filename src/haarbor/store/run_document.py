"""The root of a run: which format it is, and the plan."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from haarbor.errors import StoreError
from haarbor.store.keys import Keys
from haarbor.store.layout import BATCHES, FORMAT, METADATA, RESULTS, VERSION, group_document
from haarbor.store.run_plan import RunPlan
from haarbor.store.stored_numbers import error_bound

__all__ = ["read_plan", "stored_plan", "write_groups", "write_plan"]


def write_plan(keys: Keys, plan: RunPlan) -> None:
    """Make an empty run of `plan`."""
    attributes = {
        "format": FORMAT,
        "version": VERSION,
        "plan": plan.to_dict(),
        "error_bound": asdict(error_bound(plan.dtype)),
    }
    keys.write(METADATA, group_document(attributes))
    write_groups(keys, plan)


def write_groups(keys: Keys, plan: RunPlan) -> None:
    """Describe the groups below the root that are not described yet."""
    for group in (*(stream.name for stream in plan.streams), BATCHES, RESULTS):
        if keys.read(f"{group}/{METADATA}") is None:
            keys.write(f"{group}/{METADATA}", group_document({}))


def stored_plan(keys: Keys) -> RunPlan | None:
    """Plan of the run at a place; None where there is nothing yet.

    Raises
    ------
    StoreError
        If something else lies there, or a run of another version, or a damaged one.
    """
    data = keys.read(METADATA)
    if data is None:
        others = keys.children("")
        if others:
            raise StoreError(
                f"{keys.address} must be a Haarbor run or empty; it holds {others[0]!r} and no run. "
                "Choose another place."
            )
        return None
    attributes = _attributes(keys, data)
    if attributes.get("format") != FORMAT:
        raise StoreError(
            f"{keys.address} must be a Haarbor run; it is a zarr store of something else "
            f"(format {attributes.get('format')!r}). Choose another place."
        )
    version = attributes.get("version")
    if version != VERSION:
        raise StoreError(
            f"{keys.address} must be a run of version {VERSION}; it is of version {version!r}. "
            "Install the Haarbor it was written with, or capture it again."
        )
    plan = attributes.get("plan")
    if not isinstance(plan, dict):
        raise StoreError(f"{keys.address} must hold the plan of its run; it has none. The store is damaged.")
    return RunPlan.from_dict(plan)


def _attributes(keys: Keys, data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
        attributes = document.get("attributes", {})
        if isinstance(attributes, dict):
            return attributes
    except (ValueError, AttributeError):
        pass
    raise StoreError(
        f"{METADATA} of {keys.address} must be the JSON of a zarr 3 group; it cannot be read. "
        "The store is damaged or not Haarbor's."
    )


def read_plan(keys: Keys) -> RunPlan:
    """Plan of the run at a place.

    Raises
    ------
    StoreError
        If there is no run that this version can read.
    """
    if not keys.exists():
        raise StoreError(f"{keys.address} must be a Haarbor run; there is nothing there. Check the address.")
    plan = stored_plan(keys)
    if plan is None:
        raise StoreError(
            f"{keys.address} must be a Haarbor run; it is a file, or an empty folder. Check the address."
        )
    return plan
