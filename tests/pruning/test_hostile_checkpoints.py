"""Folders from somebody else: whatever they say, one line comes out, and no file, hub or code is reached."""

import json
import socket
import struct

import pytest
import safetensors.torch
import torch

import haarbor as hb
from haarbor.errors import PruningError
from haarbor.pruning import network_heads, prune_heads, save_pruned
from tests.pruning.small_networks import batches, network

HEADS = [(0, 1), (1, 0)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}
    for name in ("gpt2", "llama", "zoo-vit"):
        model, data = network(name), batches(name)
        heads = network_heads(model, data[0])
        made[name] = tmp_path_factory.mktemp(name)
        save_pruned(made[name], prune_heads(model, heads, HEADS, batch=data[0]), heads, HEADS)
    return made


@pytest.fixture
def hostile(folders, tmp_path, monkeypatch):
    """A function that copies a folder with another description; sockets are closed meanwhile."""

    def copied(name, change=lambda content: content, weights=None):
        content = json.loads((folders[name] / "pruned.json").read_text())
        changed = change(content)
        text = changed if isinstance(changed, str) else json.dumps(content if changed is None else changed)
        (tmp_path / "pruned.json").write_text(text)
        own = (folders[name] / "model.safetensors").read_bytes()
        (tmp_path / "model.safetensors").write_bytes(own if weights is None else weights)
        return tmp_path

    def refuse(*_arguments, **_options):
        pytest.fail("the network was reached")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return copied


def assert_refused(folder, message):
    with pytest.raises(PruningError, match=message) as refused:
        hb.load_pruned(folder)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 1500


def put(*path, value):
    """Set one entry of a description."""

    def change(content):
        place = content
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def drop(*path):
    def change(content):
        place = content
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


NETWORK, FIRST = ("network",), ("layers", 0)
DESCRIPTIONS = {
    "empty": (lambda _: "", "no JSON"),
    "not JSON": (lambda _: "[1", "no JSON"),
    "deep": (lambda _: "[" * 200_000, "no JSON"),
    "a list": (lambda _: "[]", "describes no pruned network"),
    "nothing": (lambda _: "{}", "describes no pruned network"),
    "another format": (put("format", value="else"), "describes no pruned network"),
    "another version": (put("version", value=1), "is of version 1, not 2"),
    "true for a version": (put("version", value=True), "is of version True"),
    "a version of controls": (put("version", value="\x1b[31m"), r"is of version \\x1b"),
    "no network": (drop("network"), "names no network"),
    "no library": (drop("network", "library"), "names no network"),
    "library of a number": (put("network", "library", value=3), "names no network"),
    "config of a list": (put("network", "config", value=[]), "names no network"),
    "another library": (put("network", "library", value="subprocess"), "transformers, timm or haarbor.zoo"),
    "no dtype": (drop("dtype"), "names no precision"),
    "dtype of a function": (put("dtype", value="load"), "names no precision"),
    "no layers": (drop("layers"), "must describe every layer"),
    "layers of a text": (put("layers", value="all"), "must describe every layer"),
    "too many layers": (lambda content: content["layers"].extend([{}] * 20_000), "must describe every layer"),
    "a layer of a number": (put(*FIRST, value=1), "layer 0 is 1"),
    "a field too few": (drop(*FIRST, "head_width"), "layer 0 is"),
    "a field too many": (put(*FIRST, "code", value="x"), "layer 0 is"),
    "no heads": (put(*FIRST, "n_heads", value=0), "n_heads of layer 0 is 0"),
    "heads of a text": (put(*FIRST, "n_heads", value="4"), "n_heads of layer 0 is '4'"),
    "many heads": (put(*FIRST, "n_heads", value=10**9), "n_heads of layer 0 is 1000000000"),
    "a wide head": (put(*FIRST, "head_width", value=10**12), "head_width of layer 0"),
    "a width of true": (put(*FIRST, "head_width", value=True), "head_width of layer 0 is True"),
    "a name with a call": (put(*FIRST, "projection", value="h.0.__init__()"), "projection of layer 0"),
    "a name of None": (put(*FIRST, "attention", value=None), "attention of layer 0 is None"),
    "a long name": (put(*FIRST, "block", value="a" * 5000), "block of layer 0"),
    "another name": (put(*FIRST, "projection", value="transformer.h.9"), "has no transformer.h.9"),
    "a module that is no map": (put(*FIRST, "projection", value="transformer.ln_f"), "does not gather"),
    "heads removed twice": (put(*FIRST, "removed", value=[1, 1]), "removed of layer 0"),
    "removed texts": (put(*FIRST, "removed", value=["1"]), "removed of layer 0"),
    "removed beyond": (put(*FIRST, "removed", value=[4]), "removed of layer 0"),
    "all removed": (put(*FIRST, "removed", value=[0, 1, 2, 3]), "must keep a head"),
    "others removed": (put(*FIRST, "removed", value=[1, 2]), "have shape"),
    "not smaller": (put(*FIRST, "smaller", value=False), "have shape"),
    "bias of a text": (put(*FIRST, "bias", value="no"), "bias of layer 0"),
}


@pytest.mark.parametrize("what", DESCRIPTIONS)
def test_descriptions_that_are_wrong_are_one_line(what, hostile):
    change, message = DESCRIPTIONS[what]
    assert_refused(hostile("gpt2", change), message)


SETTINGS = {
    "code to run": (put("network", "config", "auto_map", value={"AutoModel": "evil.py--X"}), "'auto_map'"),
    "quantised weights": (put("network", "config", "quantization_config", value={}), "'quantization_config'"),
    "a kernel of the hub": (put("network", "config", "attn_implementation", value="evil/x"), "attn_impl"),
    "another kernel of the hub": (put("network", "attention", value="evil/kernels"), "eager, sdpa; found"),
    "a private one": (put("network", "config", "_attn_implementation_internal", value="x"), "'_attn"),
    "layers by themselves": (put("network", "config", "per_layer_config", value={"0": {}}), "'per_layer"),
    "an unknown one": (put("network", "config", "backbone", value="hub/x"), "'backbone'"),
    "a precision": (put("network", "config", "dtype", value="load"), "'dtype'"),
    "a type of other models": (
        put("network", "model_type", value="timm_wrapper"),
        "one that transformers has",
    ),
    "a type that is missing": (drop("network", "model_type"), "one that transformers has; found 'None'"),
    "a type of a list": (put("network", "model_type", value=["llama"]), "one that transformers has"),
    "another type": (put("network", "model_type", value="bert"), "no model of the type 'bert'"),
    "a module": (put("network", "architecture", value="os"), "no model of transformers"),
    "a path": (put("network", "architecture", value="../../evil"), "no model of transformers"),
    "no model": (put("network", "architecture", value="AutoTokenizer"), "no model of transformers"),
    "any model": (put("network", "architecture", value="AutoModelForCausalLM"), "no model of transformers"),
    "a bare class": (put("network", "architecture", value="PreTrainedModel"), "no model of the type"),
    "a text for a size": (put("network", "config", "hidden_size", value="x"), "sizes that LlamaForCausalLM"),
    "a size below zero": (put("network", "config", "vocab_size", value=-5), "sizes that LlamaForCausalLM"),
    "nothing for a size": (put("network", "config", "hidden_size", value=None), "sizes that Llama"),
    "an unknown function": (
        put("network", "config", "hidden_act", value="evil"),
        "sizes that LlamaForCausalLM",
    ),
    "a huge width": (put("network", "config", "intermediate_size", value=10**9), "far larger"),
    "a size beyond all": (put("network", "config", "intermediate_size", value=10**30), "has no such value"),
    "endless layers": (put("network", "config", "num_hidden_layers", value=10**9), "has no such value"),
    "very many layers": (put("network", "config", "num_hidden_layers", value=10**4), "far larger"),
    "settings in settings": (
        put("network", "config", "rope_parameters", value={"a": {"a": {"a": {"a": {"a": 1}}}}}),
        "'rope_parameters' of LlamaForCausalLM has no such value",
    ),
    "a long text": (put("network", "config", "hidden_act", value="x" * 10**6), "has no such value"),
    "other layers": (put("network", "config", "num_hidden_layers", value=4), "are missing"),
    "another vocabulary": (put("network", "config", "vocab_size", value=98), "have shape"),
}


@pytest.mark.parametrize("what", SETTINGS)
def test_settings_of_transformers_are_those_of_a_closed_list(what, hostile):
    change, message = SETTINGS[what]
    assert_refused(hostile("llama", change), message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("network", "architecture", value="Evil"), "one that haarbor.zoo has; found 'Evil'"),
        (put("network", "config", "checkpoint", value="x"), "an option of VisionTransformer must be one of"),
        (put("network", "config", "width", value="32"), "'width' of VisionTransformer has no such value"),
        (put("network", "config", "width", value=10**9), "far larger|sizes that VisionTransformer"),
        (put("network", "config", "n_layers", value=10**9), "far larger"),
        (put("network", "config", "n_layers", value=-1), "has no such value"),
        (put("network", "config", "n_layers", value=True), "has no such value"),
        (put("network", "config", "patch_size", value=0), "sizes that VisionTransformer|has no such"),
        (put("network", "config", "image_size", value=2**30), "far larger|sizes that VisionTransformer"),
        (drop("network", "config", "width"), "sizes that VisionTransformer"),
    ],
)
def test_settings_of_the_zoo_are_those_of_a_closed_list(change, message, hostile):
    assert_refused(hostile("zoo-vit", change), message)


def header(content, payload=b""):
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return struct.pack("<Q", len(text)) + text + payload


WEIGHTS = {
    "empty": b"",
    "short": b"\x08",
    "rubbish": b"x" * 40,
    "a header without end": struct.pack("<Q", 2**62) + b"{}",
    "a header that is no JSON": header(b"[" * 1000),
    "a tensor beyond the file": header({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}),
    "a shape beyond all": header({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 8]}}, bytes(8)),
    "an unknown precision": header({"a": {"dtype": "X9", "shape": [2], "data_offsets": [0, 8]}}, bytes(8)),
    "no tensors": header({}),
    "a tensor of another name": safetensors.torch.save({"\x1b[31mevil": torch.zeros(2)}),
}


@pytest.mark.parametrize("what", WEIGHTS)
def test_files_of_weights_that_are_damaged_are_one_line(what, hostile):
    folder = hostile("gpt2", weights=WEIGHTS[what])
    assert_refused(folder, f"{folder.name} must hold pruned.json and model.safetensors of one|far larger")
    with pytest.raises(PruningError) as refused:
        hb.load_pruned(folder)
    assert "\x1b" not in str(refused.value)


def test_tensors_of_other_shapes_are_refused(hostile, folders):
    weights = safetensors.torch.load((folders["gpt2"] / "model.safetensors").read_bytes())
    weights["transformer.h.0.ln_1.weight"] = torch.zeros(33)
    folder = hostile("gpt2", weights=safetensors.torch.save(weights))
    assert_refused(folder, r"'transformer\.h\.0\.ln_1\.weight' have shape \(33,\), not \(32,\)")
    del weights["transformer.h.0.ln_1.weight"]
    folder = hostile("gpt2", weights=safetensors.torch.save(weights))
    assert_refused(folder, r"'transformer\.h\.0\.ln_1\.weight' are missing")


def test_places_without_the_files_are_one_line(hostile, tmp_path):
    assert_refused(tmp_path / "nowhere", "there is no file pruned.json")
    folder = hostile("gpt2")
    (folder / "model.safetensors").unlink()
    assert_refused(folder, "there is no file model.safetensors")
    (folder / "model.safetensors").symlink_to("/dev/zero")
    assert_refused(folder, "there is no file model.safetensors")
    (folder / "pruned.json").unlink()
    (folder / "pruned.json").symlink_to("/dev/zero")
    assert_refused(folder, "there is no file pruned.json")
    assert_refused("/dev/null", "there is no file pruned.json")
    assert_refused("x" * 5000, "File name too long|there is no file")
    assert_refused("a\0b", "there is no file|null")


def test_the_copies_that_are_not_changed_load(hostile):
    for name in ("gpt2", "llama", "zoo-vit"):
        assert not hb.load_pruned(hostile(name)).training
