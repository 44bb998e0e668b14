import pytest

import haarbor as hb
from haarbor import memory
from haarbor.memory import bytes_text, require_memory


def test_bytes_are_told_in_words():
    assert [bytes_text(n) for n in (1, 999, 1000, 25 * 10**9, 8 * 10**18)] == [
        "1 bytes", "999 bytes", "1.0 kB", "25.0 GB", "8.0 EB"
    ]  # fmt: skip


def test_the_size_and_the_memory_are_told(monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**9)
    require_memory(10**9, "this", "Do that.")
    with pytest.raises(hb.ShapeError, match=r"this would take 2\.0 GB, and this machine has 1\.0 GB\. Do"):
        require_memory(2 * 10**9, "this", "Do that.")
