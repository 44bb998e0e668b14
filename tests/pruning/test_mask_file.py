"""Which heads were removed, in a small JSON file."""

import json
import os

import numpy as np
import pytest

from haarbor.errors import PruningError, SettingError, StoreError
from haarbor.pruning import NetworkHeads, read_mask, write_mask
from tests.pruning.builders import layer_heads

LAYER = layer_heads(4)
NETWORK = NetworkHeads((LAYER,) * 3)
REMOVED = NETWORK.mask([(0, 1), (1, 0), (1, 2), (2, 2), (2, 3)])


def test_masks_are_written_and_read(tmp_path):
    write_mask(tmp_path / "mask.json", NETWORK, REMOVED, origin={"model": "llama"})
    assert read_mask(tmp_path / "mask.json", NETWORK).tolist() == REMOVED.tolist()
    assert read_mask(str(tmp_path / "mask.json"), NETWORK).tolist() == REMOVED.tolist()
    content = json.loads((tmp_path / "mask.json").read_text())
    assert content["removed"] == [[0, 1], [1, 0], [1, 2], [2, 2], [2, 3]]
    write_mask(tmp_path / "list.json", NETWORK, REMOVED.tolist())
    assert read_mask(tmp_path / "list.json", NETWORK).tolist() == REMOVED.tolist()


def test_the_mask_of_another_network_is_refused(tmp_path):
    write_mask(tmp_path / "mask.json", NETWORK, REMOVED)
    with pytest.raises(PruningError, match="2 layers and 8 heads; it has 3 layers and 12 heads"):
        read_mask(tmp_path / "mask.json", NetworkHeads((LAYER,) * 2))


@pytest.mark.parametrize(
    "removed",
    [
        np.array(["False"] * 12),
        ["False"] * 12,
        np.ones(12, dtype=np.int64),
        np.zeros(12),
        np.full(12, np.nan),
        np.zeros(11, dtype=bool),
        np.zeros((3, 4), dtype=bool),
        [True, None] * 6,
        [0, 1],
        [],
        None,
        True,
        "all",
    ],
    ids=repr,
)
def test_what_is_not_one_true_or_false_a_head_is_not_written(removed, tmp_path):
    """A text would be true, whatever it says; numbers could be meant as numbers of heads."""
    with pytest.raises(SettingError, match=r"one True or False per head, shape \(12,\); found") as refused:
        write_mask(tmp_path / "mask.json", NETWORK, removed)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_an_origin_that_json_cannot_hold_is_refused(tmp_path):
    with pytest.raises(SettingError, match="origin must hold JSON values only"):
        write_mask(tmp_path / "mask.json", NETWORK, REMOVED, origin={"model": object()})
    assert list(tmp_path.iterdir()) == []


def _edited(**changes):
    return {
        "format": "haarbor-mask",
        "version": 1,
        "heads_per_layer": [4, 4, 4],
        "removed": [[0, 1]],
        **changes,
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "its format"),
        ("3", "its format"),
        ('{"format": "else", "version": 1}', "its format"),
        (_edited(version=True), "its version is True"),
        (_edited(version=2), "its version is 2"),
        (_edited(heads_per_layer=None), "heads_per_layer"),
        (_edited(heads_per_layer=["4", "4", "4"]), "heads_per_layer"),
        (_edited(heads_per_layer=[4.0, 4, 4]), "heads_per_layer"),
        (_edited(removed=None), "removed"),
        (_edited(removed="all"), "removed"),
        (_edited(removed=[["0", "1"]]), "removed"),
        (_edited(removed=[[0, 1.7]]), "removed"),
        (_edited(removed=[[0, True]]), "removed"),
        (_edited(removed=[[0, float("nan")]]), "removed"),
        (_edited(removed=[[0, -1]]), "removed"),
        (_edited(removed=[[0]]), "removed"),
        (_edited(removed=[[0, 4]]), "a head 4 of a layer 0"),
        (_edited(removed=[[7, 0]]), "a head 0 of a layer 7"),
        (_edited(removed=[[0, 10**30]]), "removed"),
    ],
)
def test_damaged_files_are_one_line(content, message, tmp_path):
    path = tmp_path / "mask.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(
        PruningError, match=rf"mask\.json must be a mask file of heads; .*{message}"
    ) as refused:
        read_mask(path, NETWORK)
    assert "\n" not in str(refused.value)


def test_files_that_are_none_are_one_line(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name in ("", "nowhere", "bytes", "x" * 300):
        with pytest.raises((PruningError, SettingError), match="mask"):
            read_mask(tmp_path / name, NETWORK)
    for path in (None, 3, ""):
        with pytest.raises(SettingError, match="a mask must be in a file; found"):
            read_mask(path, NETWORK)
    with pytest.raises(PruningError, match="it is no file"):
        read_mask("/dev/zero", NETWORK)


def test_a_mask_is_not_written_over_a_pipe_or_where_no_file_can_be(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "no" / "mask.json", tmp_path / ("x" * 300)):
        with pytest.raises(StoreError):
            write_mask(path, NETWORK, REMOVED)
    for path in (None, 3, ""):
        with pytest.raises(SettingError, match="must be a path"):
            write_mask(path, NETWORK, REMOVED)
    assert (tmp_path / "pipe").is_fifo()
    assert len(list(tmp_path.iterdir())) == 1
