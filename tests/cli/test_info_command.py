"""haarbor info, as a user types it."""

import json
import os
import re
import shutil

import numpy as np
import pytest

import haarbor as hb
from haarbor.printable import printable
from haarbor.store import import_arrays, open_run
from tests.cli.builders import HOSTILE_NAME


def test_info_tells_what_is_there_and_that_it_is_whole(command, captured_run):
    out, _ = captured_run
    done = command("info", out, "--verify")
    assert done.code == 0, done.err
    assert "3 of 3 complete" in done.out
    assert "whole" in done.out
    found = json.loads(command("info", out, "--json").out)
    assert found["contents"] == ["probabilities", "logits"]
    assert found["library_versions"]["haarbor"] == hb.__version__


def test_info_finds_a_damaged_chunk_and_exits_1(command, captured_run, tmp_path):
    out, _ = captured_run
    copy = tmp_path / "damaged.zarr"
    shutil.copytree(out, copy)
    chunk = max(
        (path for path in (copy / "self" / "probabilities").rglob("*") if path.is_file()), key=os.path.getsize
    )
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 0xFF
    chunk.write_bytes(bytes(content))
    done = command("info", copy, "--verify")
    assert done.code == 1
    assert "1 damaged" in done.out


@pytest.mark.parametrize("compressible", [False, True])
def test_info_calls_a_run_compressed_only_where_it_became_smaller(command, tmp_path, compressible):
    rng = np.random.default_rng(0)
    X = np.full((60, 60, 8), 0.01) if compressible else rng.random((6, 6, 2)).astype("f4")
    import_arrays(X, tmp_path / "run")
    (line,) = [line for line in command("info", tmp_path / "run").out.splitlines() if "on disk" in line]
    assert "MB" not in line
    if compressible:
        assert re.search(r"\d+ kB \(compressed [1-9]\d*\.\d times\)", line)
    else:
        assert "results and descriptions included (3" in line
        assert "compressed" not in line


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": None}, None),
        ({"model": 5}, None),
        ({"config_digest": 7}, None),
        ({"config_digest": None}, None),
        ({"settings": {"deep": [[[[HOSTILE_NAME]]]]}}, None),
        ({"streams": [{"name": HOSTILE_NAME}]}, "haarbor: "),
        ({"contents": [HOSTILE_NAME]}, "haarbor: contents"),
        ({"n_batches": "x"}, "haarbor: "),
        ({"library_versions": None}, "haarbor: "),
    ],
)
def test_info_of_a_plan_that_somebody_else_wrote(command, named_to_harm, tmp_path, changes, message):
    copy = shutil.copytree(named_to_harm, tmp_path / "copy")
    document = json.loads((copy / "zarr.json").read_text())
    document["attributes"]["plan"].update(changes)
    (copy / "zarr.json").write_text(json.dumps(document))
    found = command("info", copy)
    # What a plan must hold is the store's to say; whatever it says is one line.
    assert found.err.count("\n") == found.code
    assert found.code == 1 or message is None
    assert printable(found.out + found.err, keep="\n") == found.out + found.err


def test_the_run_is_as_hostile_as_it_looks(named_to_harm):
    assert open_run(named_to_harm).model == HOSTILE_NAME


def test_a_run_that_can_only_be_read_can_be_looked_at(command, read_only_run, request):
    request.getfixturevalue("without_rights")
    assert "made up" in command("info", read_only_run).out
