import sys

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import open_run
from tests.store.builders import refused, tiny_plan, write_run


def test_file_urls_are_folders(tmp_path):
    write_run(f"file://{tmp_path}/run.zarr")
    assert open_run(tmp_path / "run.zarr").n_batches == 3


@pytest.mark.parametrize(
    "url", ["memory://\ud800", "gopher-hole://x", "://", "s3:///", "http://", "http://[", "memory\0://"]
)
def test_urls_that_are_none_are_refused(url):
    refused(open_run, url)


def test_a_url_without_fsspec_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert refused(open_run, "s3://bucket/run.zarr") == (
        "a run at a URL needs the fsspec package, which is not installed. Run pip install 'haarbor[remote]'."
    )


def test_a_store_that_can_only_be_read_is_read():
    from zarr.storage import MemoryStore

    class Published(MemoryStore):
        def with_read_only(self, read_only=False):
            raise NotImplementedError

    write_run(store := MemoryStore(), tiny_plan(n_batches=1))
    published = Published(store._store_dict, read_only=True)
    run = open_run(published)
    assert run.verify() == ()
    assert np.asarray(run.tensor(0)).any()
    assert "read-only" in refused(lambda _: run.save_result(1, "x"), published)


def test_a_location_with_an_unknown_scheme_is_refused():
    with pytest.raises(StoreError, match="a path or a URL that fsspec knows"):
        open_run("gopher-hole://x")
