"""Every bit of every kind of description in a run, flipped one at a time.

The seed is eight times the number of the byte, plus the number of the bit.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path

from faults.damaged_store import damage_judged, restored, whole_sample
from faults.forked_cases import forked_answer
from faults.kind import Form, Kind
from faults.outcome import Outcome

__all__ = ["KIND"]

_RESULT = "results/decoder/probabilities/batch-00000/organization"
KEYS = {
    "root": "zarr.json",
    "stream group": "decoder/zarr.json",
    "array of attention": "decoder/probabilities/zarr.json",
    "array of masks": "decoder/mask/zarr.json",
    "group of batches": "batches/zarr.json",
    "batch marker": "batches/00001/zarr.json",
    "group of results": "results/zarr.json",
    "result": f"{_RESULT}/zarr.json",
    "array of a result": f"{_RESULT}/*/zarr.json",
    "picture": "pictures/00000/zarr.json",
}
# The values that a description has a part in; verify reads the batches whatever was struck.
_READ = {
    "array of attention": ("plan", "probabilities"),
    "array of masks": ("plan", "mask"),
    "batch marker": ("plan", "batches", "probabilities", "labels", "picture"),
    "result": ("plan", "organization"),
    "array of a result": ("plan", "organization"),
    "picture": ("plan", "picture"),
}
_SHORT_CASES = 30


def _key(run: Path, struck: str) -> str:
    found = sorted(run.glob(KEYS[struck]))
    return found[0].relative_to(run).as_posix()


def _sizes() -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        run, _ = whole_sample(Path(folder))
        return {struck: (run / _key(run, struck)).stat().st_size for struck in KEYS}


@functools.cache
def _functions() -> Mapping[str, Mapping[Form, range]]:
    sizes = forked_answer(_sizes)
    # Steps of an odd number of bits: every place in a byte gets its turn.
    return {
        struck: {"short": range(0, 8 * size, (8 * size // _SHORT_CASES) | 1), "long": range(8 * size)}
        for struck, size in sizes.items()
    }


def _tried(function: str, seed: int, place: Path) -> Outcome:
    run, before = whole_sample(place)
    key = _key(run, function)
    with restored(run, key):
        data = bytearray((run / key).read_bytes())
        data[seed // 8] ^= 1 << seed % 8
        (run / key).write_bytes(data)
        outcome = damage_judged(run, before, _READ.get(function, ()))
    if outcome.verdict == "defect":
        letter = bytes([data[seed // 8] ^ 1 << seed % 8]).decode("latin-1")
        context = bytes(data[max(0, seed // 8 - 12) : seed // 8 + 8]).decode("latin-1")
        return outcome._replace(reason=f"[{letter!r} in {context!r}] {outcome.reason}")
    return outcome


KIND = Kind(
    name="descriptions",
    title="bits of descriptions flipped",
    functions=_functions,
    tried=_tried,
    cases_per_process=1000,
)
