"""Keys of which some arrays are held in memory for a while and never written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from haarbor.store._keys import Keys, Lock, Place
from haarbor.store._layout import METADATA, batch_of_chunk

__all__ = ["PassingKeys"]


class PassingKeys:
    """Keys of a place, except the chunks of some arrays, which are held in memory until they are let go.

    See :class:`haarbor.store._keys.Keys`.

    Parameters
    ----------
    keys : Keys
        Where everything else is written.
    paths : iterable of str
        Paths of the arrays whose chunks are not written.
    """

    def __init__(self, keys: Keys, paths: Iterable[str]) -> None:
        self._keys = keys
        self._paths = frozenset(paths)
        self._held: dict[str, bytes] = {}

    def holds(self, batch: int) -> bool:
        """Whether chunks of a batch are in memory."""
        return any(_batch(key) == batch for key in self._held)

    def let_go(self, batch: int) -> None:
        """Forget the chunks of a batch."""
        self._held = {key: data for key, data in self._held.items() if _batch(key) != batch}

    def _is_passing(self, key: str) -> bool:
        path, _, name = key.rpartition("/")
        return path in self._paths and name != METADATA

    @property
    def address(self) -> str:
        """The place, as messages name it."""
        return self._keys.address

    @property
    def place(self) -> Place | None:
        """None: other processes do not find what is in the memory of this one."""
        return None

    def exists(self) -> bool:
        """Whether there is anything at the place."""
        return self._keys.exists()

    def read(self, key: str, most_bytes: int) -> bytes | None:
        """Bytes of a key, at most so many; None if there is no such key."""
        return self._held.get(key) if self._is_passing(key) else self._keys.read(key, most_bytes)

    def write(self, key: str, data: bytes, *, is_durable: bool = True) -> None:
        """Give a key its bytes, in memory or at the place."""
        if self._is_passing(key):
            self._held[key] = data
        else:
            self._keys.write(key, data, is_durable=is_durable)

    def delete(self, *keys: str) -> None:
        """Remove keys; nothing happens for one that is not there."""
        for key in keys:
            self._held.pop(key, None)
        self._keys.delete(*(key for key in keys if not self._is_passing(key)))

    def delete_below(self, prefix: str) -> None:
        """Remove all keys below a prefix."""
        self._held = {key: data for key, data in self._held.items() if not key.startswith(f"{prefix}/")}
        self._keys.delete_below(prefix)

    def below(self, prefix: str = "") -> Iterator[str]:
        """All keys below a prefix at the place."""
        return self._keys.below(prefix)

    def children(self, prefix: str) -> list[str]:
        """Names just below a prefix, in memory and at the place."""
        held = {key.rpartition("/")[2] for key in self._held if key.rpartition("/")[0] == prefix}
        return sorted(held.union(self._keys.children(prefix)))

    def make_durable(self, keys: Iterable[str]) -> None:
        """Return when the bytes of the keys that are written outlive a loss of power."""
        self._keys.make_durable([key for key in keys if not self._is_passing(key)])

    def sweep(self, prefix: str = "", *, except_below: str | None = None) -> None:
        """Remove what interrupted writes left over; call it only while holding the lock."""
        self._keys.sweep(prefix, except_below=except_below)

    def n_bytes(self) -> int:
        """Bytes stored at the place."""
        return self._keys.n_bytes()

    def free_bytes(self) -> int | None:
        """Bytes that still fit at the place; None where that cannot be known."""
        return self._keys.free_bytes()

    def lock(self, name: str, *, patience_seconds: float = 0.0) -> Lock:
        """Take the lock called `name` at the place."""
        return self._keys.lock(name, patience_seconds=patience_seconds)


def _batch(key: str) -> int | None:
    return batch_of_chunk(key.rpartition("/")[2])
