"""Checkpoints whose files are damaged, lead elsewhere, or hold too much: one line each."""

import json
import shutil
import struct

import pytest
import torch
import transformers

from haarbor.capturing import load_model
from haarbor.errors import CaptureError
from tests.capturing.inputs.small_models import small_model, word_tokenizer


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "checkpoint"
    shown = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    small_model("GPT2LMHeadModel").save_pretrained(folder)
    word_tokenizer(pad_token="[PAD]").save_pretrained(folder)
    if shown:
        transformers.utils.logging.enable_progress_bar()
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "checkpoint")


def parts(folder):
    """Header and values of the weights."""
    data = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def write(folder, header, values=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    begin = struct.pack("<Q", len(text) if length is None else length)
    (folder / "model.safetensors").write_bytes(begin + text + values)


def changed(folder, **changes):
    header, values = parts(folder)
    first = next(name for name in header if name != "__metadata__")
    header[first].update(changes)
    write(folder, {name: value for name, value in header.items() if value is not None}, values)


DAMAGES = {
    "empty": lambda folder: (folder / "model.safetensors").write_bytes(b""),
    "seven bytes": lambda folder: (folder / "model.safetensors").write_bytes(b"1234567"),
    "length beyond all": lambda folder: write(folder, b"{}", length=2**63),
    "length beyond the file": lambda folder: write(folder, b"{}", length=10**8),
    "no JSON": lambda folder: write(folder, b'{"a":'),
    "a list": lambda folder: write(folder, b"[]"),
    "deep": lambda folder: write(folder, b'{"a":' * 100_000),
    "half a surrogate": lambda folder: write(folder, b'{"\\ud800": {"dtype": "F32", "shape": [0]}}'),
    "no UTF-8": lambda folder: write(folder, b'{"\xff": 1}'),
    "offsets beyond": lambda folder: changed(folder, data_offsets=[0, 10**18]),
    "offsets before": lambda folder: changed(folder, data_offsets=[-5, 0]),
    "huge shape": lambda folder: changed(folder, shape=[2**40, 2**40]),
    "unknown dtype": lambda folder: changed(folder, dtype="Q3"),
    "no dtype": lambda folder: changed(folder, dtype=None),
    "cut": lambda folder: write(folder, *(lambda header, values: (header, values[:-100]))(*parts(folder))),
    "longer": lambda folder: write(folder, *(lambda header, values: (header, values + b"x"))(*parts(folder))),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_weights_are_one_line(folder, damage, capfd):
    damage(folder)
    with pytest.raises(CaptureError, match="the weights of checkpoint could not be loaded: ") as found:
        load_model(folder)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 600
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "index",
    [
        {"weight_map": {"a": "pytorch_model.bin"}},
        {"weight_map": {"a": "../checkpoint/model-1.safetensors"}},
        {"weight_map": {"a": "missing.safetensors"}},
        {"weight_map": {"a": 5}},
        {"weight_map": {}},
        {"weight_map": [1]},
        {},
    ],
    ids=str,
)
def test_an_index_leads_to_safetensors_beside_it_and_nowhere_else(folder, index):
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    torch.save({}, folder / "pytorch_model.bin")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CaptureError, match="must name safetensors files beside it; found") as found:
        load_model(folder)
    assert "\n" not in str(found.value)


def test_weights_in_several_files_are_loaded(folder):
    header, _ = parts(folder)
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    names = {name: "model-00001-of-00001.safetensors" for name in header if name != "__metadata__"}
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 1}, "weight_map": names})
    )
    expected = small_model("GPT2LMHeadModel").state_dict()
    found = load_model(folder).model.state_dict()
    assert all(torch.equal(value, found[name]) for name, value in expected.items())


def test_twenty_thousand_tensors_more_than_the_model_has_do_no_harm(folder):
    header, values = parts(folder)
    nothing = {"dtype": "F32", "shape": [0], "data_offsets": [len(values), len(values)]}
    write(folder, {**header, **{f"more.{number}": nothing for number in range(20_000)}}, values)
    assert type(load_model(folder).model).__name__ == "GPT2LMHeadModel"


def test_a_head_that_the_checkpoint_lacks_is_told(tmp_path, whole):
    folder = shutil.copytree(whole, tmp_path / "checkpoint")
    content = json.loads((folder / "config.json").read_text())
    content["architectures"] = ["GPT2ForSequenceClassification"]
    (folder / "config.json").write_text(json.dumps(content))
    loaded = load_model(folder)
    assert any("has no score.weight" in note and "random" in note for note in loaded.notes)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "[]", "null", "5", '{"version": "1.0", "model": {"type": "BPE"}}', "\0", "{"],
    ids=["deep", "list", "null", "number", "no vocabulary", "NUL", "cut"],
)
@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
def test_a_damaged_tokenizer_is_a_note_of_one_line(folder, name, text):
    (folder / name).write_text(text)
    notes = load_model(folder).notes
    assert all("\n" not in note for note in notes)
    if name == "tokenizer.json":
        assert [note for note in notes if note.startswith("the tokenizer could not be loaded: ")]


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": ["gpt2"]}, {"model_type": {"a": 1}}, {"vocab_size": -5}, {"vocab_size": "40"},
        {"n_head": 3}, {"n_head": 0}, {"activation_function": "os.system"}, {"id2label": [1, 2]},
        {"quantization_config": 5}, {"architectures": ["PreTrainedModel"]}, {"architectures": ["BertModel"]},
    ],
    ids=str,
)  # fmt: skip
def test_configurations_of_the_wrong_kind_are_one_line(folder, changes, capfd):
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**content, **changes}))
    with pytest.raises(CaptureError) as found:
        load_model(folder)
    assert "\n" not in str(found.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "content",
    [
        {"size": "large", "do_center_crop": True}, {"image_mean": "x", "image_std": [1, 1, 1]},
        {"image_mean": [0.5], "image_std": [0.5]}, {"image_mean": [0, 0, 0], "image_std": [0, 0, 0]},
        {"rescale_factor": "x"}, {"size": {"shortest_edge": 10**12}, "do_center_crop": True},
    ],
    ids=str,
)  # fmt: skip
def test_preprocessors_of_the_wrong_kind_are_one_line(tmp_path, content):
    shown = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    small_model("ViTModel").save_pretrained(tmp_path / "vit")
    if shown:
        transformers.utils.logging.enable_progress_bar()
    (tmp_path / "vit" / "preprocessor_config.json").write_text(json.dumps(content))
    try:
        notes = load_model(tmp_path / "vit").notes
    except CaptureError as error:
        notes = (str(error),)
    assert all("\n" not in note for note in notes)
