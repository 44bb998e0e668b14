"""Pruned networks are saved and rebuilt."""

import json
import os

import numpy as np
import pytest
import torch
from torch import nn

import haarbor as hb
from haarbor.errors import PruningError, SettingError, StoreError
from haarbor.pruning import (
    compensate,
    compensated,
    mask_heads,
    n_parameters,
    network_heads,
    prune_heads,
    removed_heads,
    save_pruned,
)
from tests.pruning.builders import answer, assert_same, everything
from tests.pruning.small_networks import MADE_SMALLER, MASKED_ONLY, batches, network

WHOLE_MODEL_NEEDED = ("multihead",)


@pytest.mark.parametrize("name", [*MADE_SMALLER, *MASKED_ONLY])
def test_a_saved_network_is_rebuilt_the_same(name, tmp_path):
    model, heads, data, removed = everything(name)
    found = compensate(model, heads, removed, data[:1])
    make = prune_heads if name in MADE_SMALLER else mask_heads
    pruned = make(model, heads, removed, batch=data[0], compensation=found)
    save_pruned(tmp_path / "small", pruned, heads, removed, origin={"model": name})
    torch.manual_seed(99)
    loaded = hb.load_pruned(tmp_path / "small", *([network(name)] if name in WHOLE_MODEL_NEEDED else []))
    assert not loaded.training
    saved, found_again = pruned.state_dict(), loaded.state_dict()
    assert saved.keys() == found_again.keys()
    assert all(torch.equal(saved[key], found_again[key]) for key in saved)
    assert_same(answer(loaded, data[1]), answer(pruned, data[1]))
    with compensated(model, heads, found):
        assert_same(answer(loaded, data[1]), answer(model, data[1]))
    assert sorted(path.name for path in (tmp_path / "small").iterdir()) == [
        "model.safetensors",
        "pruned.json",
    ]


def test_half_precision_stays(tmp_path):
    model, heads, data, removed = everything("llama")
    smaller = prune_heads(model, heads, removed, batch=data[0]).to(torch.bfloat16)
    save_pruned(tmp_path, smaller, heads, removed)
    assert next(hb.load_pruned(tmp_path).parameters()).dtype == torch.bfloat16


def test_a_network_of_the_users_own_is_loaded_into_one_that_is_handed_over(tmp_path):
    model, heads, data, removed = everything("multihead")
    save_pruned(tmp_path / "own", prune_heads(model, heads, removed, batch=data[0]), heads, removed)
    with pytest.raises(PruningError, match=r"own is of a Encoder, .*load_pruned\(folder, model\)"):
        hb.load_pruned(tmp_path / "own")
    with pytest.raises(PruningError, match="must be a Encoder, as own was; found a GPT2LMHeadModel"):
        hb.load_pruned(tmp_path / "own", network("gpt2"))
    with pytest.raises(SettingError, match=r"must be a torch\.nn\.Module; found str"):
        hb.load_pruned(tmp_path / "own", "Encoder")
    # Any weights will do, and it is left as it is.
    other = network("multihead")
    with torch.no_grad():
        for weight in other.parameters():
            weight.fill_(0.5)
    loaded = hb.load_pruned(tmp_path / "own", other)
    with removed_heads(model, heads, removed):
        assert_same(answer(loaded, data[1]), answer(model, data[1]))
    assert n_parameters(other) == n_parameters(model)
    assert all(bool((weight == 0.5).all()) for weight in other.parameters())


def test_a_network_of_other_sizes_is_refused(tmp_path):
    model, heads, data, removed = everything("multihead")
    save_pruned(tmp_path / "own", prune_heads(model, heads, removed, batch=data[0]), heads, removed)
    other = network("multihead")
    other.scores = nn.Linear(32, 50)
    with pytest.raises(PruningError, match=r"'scores\.(weight|bias)' have shape \(97"):
        hb.load_pruned(tmp_path / "own", other)


def test_a_model_that_is_not_as_its_class_makes_it_is_one_of_the_users_own(tmp_path):
    """A description that gives another network would be found out when it is too late."""
    model, heads, data, removed = everything("gpt2")
    model.lm_head = nn.Linear(32, 50)
    save_pruned(tmp_path / "own", prune_heads(model, heads, removed, batch=data[0]), heads, removed)
    assert json.loads((tmp_path / "own" / "pruned.json").read_text())["network"]["library"] == "own"
    loaded = hb.load_pruned(tmp_path / "own", model)
    with removed_heads(model, heads, removed):
        assert_same(answer(loaded, data[1]), answer(model, data[1]))


def test_weights_of_another_network_are_refused(tmp_path):
    for name in ("gpt2", "llama"):
        model, heads, data, removed = everything(name)
        save_pruned(tmp_path / name, prune_heads(model, heads, removed, batch=data[0]), heads, removed)
    (tmp_path / "gpt2" / "model.safetensors").write_bytes(
        (tmp_path / "llama" / "model.safetensors").read_bytes()
    )
    with pytest.raises(PruningError, match=r"gpt2 must hold .* belong to another network"):
        hb.load_pruned(tmp_path / "gpt2")


@pytest.mark.parametrize("place", [None, 3, "", b"x"])
def test_a_place_must_be_a_path(place):
    model, data = network("multihead"), batches("multihead")
    heads = network_heads(model, data[0])
    with pytest.raises(SettingError, match="must be a path; found"):
        save_pruned(place, model, heads, [])
    with pytest.raises(SettingError, match="must be in a folder; found"):
        hb.load_pruned(place)


def test_what_cannot_be_saved_is_refused_before_anything_is_written(tmp_path):
    model, heads, data, removed = everything("zoo-vit")
    smaller = prune_heads(model, heads, removed, batch=data[0])
    with pytest.raises(SettingError, match="origin must hold JSON values only"):
        save_pruned(tmp_path / "small", smaller, heads, removed, origin={"score": np.ones(3)})
    with pytest.raises(SettingError, match=r"must be a torch\.nn\.Module; found NoneType"):
        save_pruned(tmp_path / "small", None, heads, removed)
    assert list(tmp_path.iterdir()) == []


def test_only_new_and_empty_folders_and_earlier_networks_are_written_to(tmp_path):
    model, heads, data, removed = everything("zoo-vit")
    smaller = prune_heads(model, heads, removed, batch=data[0])
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.txt").write_text("kept")
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    for name, message in (
        ("notes", r"holds thesis\.txt"),
        ("file", "is none"),
        ("link", "is a link"),
        ("file/below", "a folder in a folder"),
        ("x" * 300, "File name too long. Choose a shorter name"),
    ):
        with pytest.raises(StoreError, match=message) as refused:
            save_pruned(tmp_path / name, smaller, heads, removed)
        assert "\n" not in str(refused.value)
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", "/proc/haarbor"):
        with pytest.raises(StoreError):
            save_pruned(place, smaller, heads, removed)
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "notes" / "thesis.txt").read_text() == (tmp_path / "file").read_text() == "kept"
    assert list((tmp_path / "elsewhere").iterdir()) == []
    save_pruned(tmp_path / "new" / "small", smaller, heads, removed)
    fewer = prune_heads(model, heads, removed[:1], batch=data[0])
    save_pruned(tmp_path / "new" / "small", fewer, heads, removed[:1])
    assert n_parameters(hb.load_pruned(tmp_path / "new" / "small")) == n_parameters(fewer)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["small"]


def test_files_are_readable_like_the_folder(tmp_path):
    model, heads, data, removed = everything("zoo-vit")
    save_pruned(tmp_path / "small", prune_heads(model, heads, removed, batch=data[0]), heads, removed)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "small").iterdir()}
    assert modes == {(tmp_path / "small").stat().st_mode & 0o666}
