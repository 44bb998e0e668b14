"""The JSON documents of a run. The same content always gives the same bytes.

Two documents mean the same if they hold the same values under the same names, in any order and with
any indentation: another zarr program may have written them again. Everything else is an error: a name
that stands twice, 1 instead of 1.0 or true, or a member that is not known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from haarbor.errors import SettingError
from haarbor.options import found_text
from haarbor.printable import printable
from haarbor.store._damaged_part import DamagedPartError

__all__ = [
    "MOST_BYTES",
    "digest_of",
    "digested_attributes",
    "digested_document",
    "first_difference",
    "group_attributes",
    "group_document",
    "parsed_document",
    "parsed_json",
    "require_empty_group",
]

MOST_BYTES = 2**26
"""The longest document that is read: labels of a million tokens fit, and the memory is not at risk."""

_GROUP = {"zarr_format": 3, "node_type": "group"}


class Difference(NamedTuple):
    """Where two JSON values begin to differ."""

    place: str
    """As in ``codecs[1].name``."""
    there: str
    """What the first one has, in words."""
    here: str
    """What the second one has."""


def parsed_document(data: bytes) -> dict[str, Any]:
    """JSON object of a description, without the members that zarr allows a reader to ignore.

    Raises
    ------
    DamagedPartError
        If it is no JSON object.

    Examples
    --------
    >>> parsed_document(b'{"zarr_format": 3, "extension": {"must_understand": false}}')
    {'zarr_format': 3}
    """
    return {name: value for name, value in parsed_json(data).items() if not _is_optional(value)}


def parsed_json(data: bytes) -> dict[str, Any]:
    """JSON object in which no name stands twice and all numbers are finite; otherwise DamagedPartError."""
    try:
        found = json.loads(data.decode(), object_pairs_hook=_named_once, parse_constant=_no_number)
    except RecursionError:
        raise DamagedPartError("it is nested too deeply to be read") from None
    except ValueError as error:
        raise DamagedPartError(f"it is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise DamagedPartError("it is no JSON object")
    return found


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _is_optional(value: Any) -> bool:
    return isinstance(value, dict) and value.get("must_understand") is False


def group_document(attributes: Mapping[str, Any]) -> bytes:
    """Description of a zarr group, the same bytes for the same attributes.

    Raises
    ------
    SettingError
        If it would be too long to be read again.
    """
    text = json.dumps({**_GROUP, "attributes": dict(attributes)}, indent=2, sort_keys=True, allow_nan=False)
    if len(text) > MOST_BYTES:
        raise SettingError(
            f"a description in a run must be shorter than {MOST_BYTES / 1e6:.0f} MB; found "
            f"{len(text) / 1e6:.0f} MB. Keep numbers in arrays, and labels short."
        )
    return text.encode("ascii")


def group_attributes(data: bytes) -> dict[str, Any]:
    """Attributes of a zarr group from its description.

    Raises
    ------
    DamagedPartError
        If it is not the description of a zarr 3 group.
    """
    document = parsed_document(data)
    attributes = document.pop("attributes", {})
    if not isinstance(attributes, dict) or first_difference(document, _GROUP) is not None:
        raise DamagedPartError("it is not the description of a zarr 3 group")
    return attributes


def require_empty_group(data: bytes) -> None:
    """Raise DamagedPartError unless it is the description of a group without attributes."""
    if group_attributes(data):
        raise DamagedPartError("it has attributes that were not written")


def digest_of(values: Mapping[str, Any]) -> str:
    """SHA-256 of JSON values, which does not depend on the order of their names.

    Examples
    --------
    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def digested_document(attributes: Mapping[str, Any]) -> bytes:
    """Description of a group with its attributes and a digest of them."""
    return group_document({**attributes, "digest": digest_of(attributes)})


def digested_attributes(data: bytes) -> dict[str, Any]:
    """Attributes that :func:`digested_document` wrote, without their digest.

    Raises
    ------
    DamagedPartError
        If anything in them changed.
    """
    attributes = group_attributes(data)
    digest = attributes.pop("digest", None)
    try:
        fits = digest == digest_of(attributes)
    except (ValueError, RecursionError):
        fits = False
    if not fits:
        raise DamagedPartError("its digest does not fit what it says")
    return attributes


def first_difference(there: Any, here: Any, place: str = "") -> Difference | None:
    """First place where two JSON values differ, in value or in type; None if they are the same.

    Examples
    --------
    >>> first_difference({"a": [1, 2]}, {"a": [1, True]})
    Difference(place='a[1]', there='2', here='True')
    """
    if isinstance(there, dict) and isinstance(here, dict):
        for name in [*there, *(name for name in here if name not in there)]:
            inner = f"{place}.{name}" if place else str(name)
            if name not in there or name not in here:
                one, other = ("missing" if name not in values else "given" for values in (there, here))
                return Difference(_short(inner), one, other)
            found = first_difference(there[name], here[name], inner)
            if found is not None:
                return found
        return None
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for i, (one, other) in enumerate(zip(there, here, strict=True)):
            found = first_difference(one, other, f"{place}[{i}]")
            if found is not None:
                return found
        return None
    if type(there) is type(here) and there == here:
        return None
    return Difference(_short(place), found_text(there), found_text(here))


def _short(place: str) -> str:
    """Name of a place in one line; names from outside may hold anything, and be of any length."""
    text = printable(place)
    return text if len(text) <= 120 else f"{text[:117]}..."
