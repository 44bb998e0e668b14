"""Runs in a bucket of an S3 server on this machine: capture, resumption, two writers, failures, requests."""

import logging
import os
import re
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import create_run, open_run
from tests.store.builders import tiny_plan, write_batch, write_run

if not os.environ.get("CI"):
    # Packages that only these tests need are left out of a quick set-up; a test machine has them.
    for name in ("boto3", "flask_cors", "moto", "s3fs"):
        pytest.importorskip(name)

import boto3
from moto import server, settings
from zarr.core.sync import sync

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class Requests(logging.Handler):
    """Requests that the server has answered, as "GET /bucket/key"."""

    def __init__(self):
        super().__init__()
        self.told = []

    def emit(self, record):
        text = record.getMessage()
        if '"' in text:
            # Some answers are in colour.
            self.told.append(re.sub(r"\x1b\[\d+m", "", text.split('"')[1]).rpartition(" ")[0])


@pytest.fixture
def bucket(monkeypatch):
    """Address of an empty bucket, and the server."""
    import fsspec

    for name, value in (
        ("ACCESS_KEY_ID", "key"),
        ("SECRET_ACCESS_KEY", "word"),
        ("DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    started = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    started.start()
    address = f"http://127.0.0.1:{started.get_host_and_port()[1]}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    # Connections are kept between calls, with the address they were made for.
    systems = fsspec.get_filesystem_class("s3")
    systems.clear_instance_cache()
    # What is in a bucket outlives the server, within this process.
    name = f"attention-{uuid.uuid4()}"
    boto3.client("s3", endpoint_url=address).create_bucket(Bucket=name)
    started.requests = Requests()
    logging.getLogger("werkzeug").addHandler(started.requests)
    logging.getLogger("werkzeug").setLevel(logging.INFO)
    yield f"s3://{name}/run.zarr", started
    logging.getLogger("werkzeug").removeHandler(started.requests)
    for system in systems._cache.values():
        if system._s3 is not None:
            sync(system._s3.close())
    started.stop()


def test_a_run_in_a_bucket_is_the_run_on_a_disk(bucket, tmp_path):
    place, _ = bucket
    write_run(place)
    run, local = open_run(place), open_run(write_run(tmp_path / "run.zarr"))
    assert run.batches == local.batches
    assert run.verify() == ()
    for batch in run.batches:
        assert np.array_equal(run.tensor(batch), local.tensor(batch))
        assert run.digest(batch) == local.digest(batch)
    run.save_result({"scores": np.arange(3)}, "scores", batch=0)
    assert open_run(place).load_result("scores", batch=0)["scores"].tolist() == [0, 1, 2]
    assert run.place == (place, None)


def test_every_object_is_asked_for_once(bucket):
    place, started = bucket
    write_run(place)
    run = open_run(place)
    started.requests.told.clear()
    np.asarray(run.tensor(0))
    told = started.requests.told
    chunks = [line for line in told if "/c/" in line or "/c." in line]
    assert chunks
    assert sorted(chunks) == sorted(set(chunks))
    assert {line.split()[0] for line in told} == {"GET"}


def test_a_second_writer_is_refused(bucket):
    place, _ = bucket
    with create_run(place, tiny_plan()) as writer:
        with pytest.raises(StoreError, match="one process at a time may write to"):
            create_run(place, tiny_plan())
        write_batch(writer, 0)
    assert open_run(place).batches == (0,)


def test_a_writer_killed_in_mid_upload_loses_its_batch_only(bucket, tmp_path):
    place, _ = bucket
    code = (
        "import sys, os, signal, numpy as np\n"
        "from haarbor.store import create_run\n"
        "from tests.store.builders import tiny_plan, write_batch\n"
        "writer = create_run(sys.argv[1], tiny_plan()).__enter__()\n"
        "write_batch(writer, 0)\n"
        "opened = writer.batch(1)\n"
        "batch = opened.__enter__()\n"
        "batch.write_mask(None, np.ones((4, 4), dtype=bool))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")])
    killed = subprocess.run(
        [sys.executable, "-c", code, place], env={**os.environ, "PYTHONPATH": paths}, cwd=root, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert open_run(place).batches == (0,)
    with create_run(place, tiny_plan()) as writer:
        for batch in writer.missing_batches:
            write_batch(writer, batch)
    local = open_run(write_run(tmp_path / "run.zarr"))
    run = open_run(place)
    assert run.verify() == ()
    assert [run.digest(batch) for batch in run.batches] == [local.digest(batch) for batch in local.batches]


def test_a_lost_connection_is_told_in_one_line(bucket):
    place, started = bucket
    write_run(place)
    run = open_run(place)
    started.stop()
    with pytest.raises(StoreError, match=r"s3://attention-.*/run\.zarr") as caught:
        np.asarray(run.tensor(0))
    assert "\n" not in str(caught.value)


def test_wrong_credentials_are_told_in_one_line(bucket, monkeypatch):
    place, _ = bucket
    write_run(place)
    # From now on the server looks at who is asking.
    monkeypatch.setattr(settings, "INITIAL_NO_AUTH_ACTION_COUNT", 0.0)
    with pytest.raises(StoreError, match=r"s3://attention-.*/run\.zarr") as caught:
        open_run(place, storage_options={"key": "another", "secret": "wrong"})
    assert "\n" not in str(caught.value)
