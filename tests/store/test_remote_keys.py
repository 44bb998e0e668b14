import subprocess
import sys

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import refused, tiny_plan, write_batch, write_run


@pytest.mark.parametrize("location", ["memory://store-tests/run.zarr", "zarr"])
def test_a_run_lives_at_a_url_as_on_a_disk(location, tmp_path):

    if location == "zarr":
        from zarr.storage import MemoryStore

        location = MemoryStore()
    write_run(location, batches=(0,))
    with create_run(location, tiny_plan()) as writer:
        with pytest.raises(StoreError, match="one process at a time may write to"):
            create_run(location, tiny_plan())
        with pytest.raises(StoreError, match="batch 2 lacks"), writer.batch(2) as batch:
            batch.write_mask(None, np.ones((4, 4), dtype=bool))
        write_batch(writer, 1)
        write_batch(writer, 2)
    run = open_run(location)
    local = open_run(write_run(tmp_path / "run.zarr"))
    assert run.batches == local.batches
    assert run.size_on_disk() == local.size_on_disk()
    assert run.verify() == ()
    for batch in run.batches:
        assert np.array_equal(run.tensor(batch), local.tensor(batch))
        assert run.labels(batch) == local.labels(batch)
    run.save_result({"scores": np.arange(3)}, "scores", batch=0)
    assert [found.name for found in run.results()] == ["scores"]
    assert run.load_result("scores", batch=0)["scores"].tolist() == [0, 1, 2]
    with create_run(location, tiny_plan()) as writer:
        writer.discard(0)
        assert run.batches == (1, 2)
        assert run.results() == ()
        write_batch(writer, 0)
    assert run.batches == (0, 1, 2)
    assert run.verify() == ()


def test_a_dead_holder_of_a_remote_lock_is_replaced():
    import json
    import socket

    from haarbor.store._keys import keys_at

    keys = keys_at("memory://store-tests/locks", read_only=False)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    keys.write(".writer.lock", json.dumps({"host": socket.gethostname(), "process": ended.pid}).encode())
    lock = keys.lock("writer")
    lock.release()
    lock.release()
    assert keys.read(".writer.lock", 100) is None
    keys.write(".writer.lock", json.dumps({"host": "elsewhere", "process": 1}).encode())
    with pytest.raises(
        StoreError, match=r"process 1 on elsewhere does now.*remove the object '.writer.lock'"
    ):
        keys.lock("writer")


def test_a_remote_library_that_fails_is_one_line(monkeypatch):
    from zarr.storage import MemoryStore

    class NoCredentialsError(Exception):
        pass

    async def failing(self, *arguments, **options):
        raise NoCredentialsError("Unable to locate credentials\nat all")

    write_run(store := MemoryStore(), tiny_plan(n_batches=1))
    run = open_run(store)
    monkeypatch.setattr(MemoryStore, "get", failing)
    assert "failed: Unable to locate credentials. " in refused(lambda _: run.tensor(0), store)
