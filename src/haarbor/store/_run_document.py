"""The root of a run, which holds the format and the plan, and the groups below it."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import Any

from haarbor.errors import StoreError
from haarbor.options import found_text
from haarbor.store._batch_marker import complete_batches, read_marker
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._documents import (
    MOST_BYTES,
    digested_attributes,
    digested_document,
    group_attributes,
    group_document,
    require_empty_group,
)
from haarbor.store._keys import Keys
from haarbor.store._layout import BATCHES, FORMAT, METADATA, RESULTS, VERSION
from haarbor.store._run_plan import RunPlan
from haarbor.store._stored_numbers import error_bound

__all__ = [
    "describe_group",
    "is_run_of",
    "planned_groups",
    "read_plan",
    "require_group",
    "stored_plan",
    "write_groups",
    "write_plan",
]


def write_plan(keys: Keys, plan: RunPlan) -> None:
    """Write the root of a run of `plan`."""
    attributes = {
        "format": FORMAT,
        "version": VERSION,
        "plan": plan.to_dict(),
        "error_bound": asdict(error_bound(plan.dtype)),
    }
    keys.write(METADATA, digested_document(attributes))


def planned_groups(plan: RunPlan) -> tuple[str, ...]:
    """Paths of the groups that every run of a plan has below its root."""
    return (*(stream.name for stream in plan.streams), BATCHES, RESULTS)


def write_groups(keys: Keys, plan: RunPlan, *, repair: bool) -> None:
    """Describe the groups below the root that are not described yet, and damaged ones if `repair`.

    Raises
    ------
    StoreError
        If a group is damaged and must not be repaired.
    """
    for group in planned_groups(plan):
        try:
            described = require_group(keys, group)
        except DamagedPartError as error:
            if not repair:
                raise StoreError(
                    f"the group {group!r} of {keys.address} must be described as it was written; {error}. "
                    "Open the run with create_run(..., repair=True) to write the description again."
                ) from None
            described = False
        if not described:
            keys.write(f"{group}/{METADATA}", group_document({}))


def require_group(keys: Keys, path: str) -> bool:
    """Whether a group is described; DamagedPartError if it is, and not as it was written."""
    try:
        data = keys.read(f"{path}/{METADATA}", MOST_BYTES)
        if data is not None:
            require_empty_group(data)
    except DamagedPartError as error:
        raise DamagedPartError(f"its description is damaged: {error}") from None
    return data is not None


def describe_group(keys: Keys, path: str) -> None:
    """Write the description of a group of results or pictures, unless it is there and undamaged."""
    try:
        described = require_group(keys, path)
    except DamagedPartError:
        described = False
    if not described:
        keys.write(f"{path}/{METADATA}", group_document({}))


def stored_plan(keys: Keys) -> RunPlan | None:
    """Plan of the run at a place; None where there is nothing yet.

    Raises
    ------
    DamagedPartError
        If something else lies there, or a run of another version, or one whose root is damaged.
    """
    try:
        data = keys.read(METADATA, MOST_BYTES)
        attributes = None if data is None else group_attributes(data)
    except DamagedPartError as error:
        raise DamagedPartError(
            f"{METADATA} of {keys.address} must be the JSON of a zarr 3 group; it cannot be read: {error}. "
            "The store is damaged or not Haarbor's: choose another place, or capture it again."
        ) from None
    if data is None or attributes is None:
        others = keys.children("")
        if others:
            raise DamagedPartError(
                f"{keys.address} must be a Haarbor run or empty; it holds {found_text(others[0])} and "
                "no run. Choose another place."
            )
        return None
    return _plan_in(keys, data, attributes)


def _plan_in(keys: Keys, data: bytes, attributes: dict[str, Any]) -> RunPlan:
    if attributes.get("format") != FORMAT:
        raise DamagedPartError(
            f"{keys.address} must be a Haarbor run; it is a zarr store of something else "
            f"(format {found_text(attributes.get('format'))}). Choose another place."
        )
    version = attributes.get("version")
    if type(version) is not int or version != VERSION:
        raise DamagedPartError(
            f"{keys.address} must be a run of version {VERSION}; it is of version "
            f"{found_text(version)}. Install the Haarbor it was written with, or capture it again."
        )
    try:
        plan = digested_attributes(data).get("plan")
    except DamagedPartError as error:
        raise DamagedPartError(
            f"{METADATA} of {keys.address} must hold the plan as it was written; {error}. The store is "
            "damaged: capture it again, or mend it with create_run(..., repair=True) and the same plan."
        ) from None
    if not isinstance(plan, dict):
        raise StoreError(
            f"{keys.address} must hold the plan of its run; it has none. The store is damaged: "
            "capture it again."
        )
    return RunPlan.from_dict(plan)


def is_run_of(keys: Keys, plan: RunPlan) -> bool:
    """Whether a complete batch proves that this is a run of `plan`, even if its root is damaged."""
    for batch in complete_batches(keys):
        with contextlib.suppress(DamagedPartError):
            read_marker(keys, plan, batch)
            return True
    return False


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
