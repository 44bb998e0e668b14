"""What a configuration says is a description: nothing is fetched, imported or made in an absurd size."""

import json
import socket

import pytest
import torch
import transformers

from haarbor.capturing import load_model
from haarbor.capturing._checkpoint_config import checkpoint_config
from haarbor.errors import CaptureError
from tests.capturing.inputs.small_models import small_model


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """Folder of a small model of each kind, written once."""
    root, done = tmp_path_factory.mktemp("checkpoints"), {}
    shown = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    for kind in ("BertModel", "GPT2LMHeadModel"):
        done[kind] = root / kind
        small_model(kind).save_pretrained(done[kind])
    torch.manual_seed(0)
    text = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.CLIPConfig(
        text_config={**text, "intermediate_size": 16, "max_position_embeddings": 16, "projection_dim": 8},
        vision_config={"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
                       "num_attention_heads": 2, "image_size": 8, "patch_size": 4, "projection_dim": 8},
        projection_dim=8,
    )  # fmt: skip
    done["CLIPModel"] = root / "CLIPModel"
    transformers.CLIPModel(config).save_pretrained(done["CLIPModel"])
    if shown:
        transformers.utils.logging.enable_progress_bar()
    return done


@pytest.fixture
def edited(checkpoints, tmp_path):
    """Copy of a checkpoint whose config.json is changed by a function of its content."""

    def edit(kind, change):
        folder = tmp_path / "checkpoint"
        folder.mkdir()
        for file in checkpoints[kind].iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        content = json.loads((folder / "config.json").read_text())
        change(content)
        (folder / "config.json").write_text(json.dumps(content))
        return folder

    return edit


@pytest.fixture
def nothing_is_fetched(monkeypatch):
    """Every way to a kernel or to the network fails the test; gives what was reached."""
    reached = []

    def refuse(*args, **_options):
        reached.append(args)
        raise AssertionError(f"reached with {args}")

    import transformers.integrations.hub_kernels as kernels
    import transformers.modeling_flash_attention_utils as flash

    monkeypatch.setattr(transformers.modeling_utils, "lazy_import_flash_attention", refuse)
    monkeypatch.setattr(flash, "lazy_import_flash_attention", refuse)
    monkeypatch.setattr(kernels, "load_and_register_attn_kernel", refuse)
    monkeypatch.setattr(kernels, "get_kernel", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    return reached


FOREIGN = ("kernels-community/foo", "someone/attention@main:kernel", "flash_attention_2", "flash_attention_3",
           "flex_attention", "paged|sdpa")  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_an_attention_that_a_checkpoint_names_is_left_out_and_told(edited, nothing_is_fetched, name, key):
    loaded = load_model(edited("GPT2LMHeadModel", lambda content: content.update({key: name})))
    assert not nothing_is_fetched
    assert loaded.model.config._attn_implementation in ("eager", "sdpa")
    assert [note for note in loaded.notes if name in note and "left out" in note]
    expected = small_model("GPT2LMHeadModel").state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in loaded.model.state_dict().items())


def test_an_attention_of_pytorch_is_kept_without_a_word(edited, nothing_is_fetched):
    loaded = load_model(edited("BertModel", lambda content: content.update(attn_implementation="eager")))
    assert loaded.model.config._attn_implementation == "eager"
    assert loaded.notes == ()


@pytest.mark.parametrize("part", ["text_config", "vision_config"])
def test_an_attention_named_for_a_part_is_left_out_too(edited, nothing_is_fetched, part):
    def change(content):
        content[part]["attn_implementation"] = "kernels-community/foo"

    loaded = load_model(edited("CLIPModel", change))
    assert not nothing_is_fetched
    assert getattr(loaded.model.config, part)._attn_implementation in ("eager", "sdpa")
    assert any("kernels-community/foo" in note for note in loaded.notes)


def test_attention_by_part_as_a_dictionary_is_left_out(edited, nothing_is_fetched):
    named = {"": "sdpa", "text_config": "kernels-community/foo", "vision_config": "kernels-community/bar"}
    loaded = load_model(edited("CLIPModel", lambda content: content.update(attn_implementation=named)))
    assert not nothing_is_fetched
    assert loaded.model.config.text_config._attn_implementation in ("eager", "sdpa")


def test_a_file_of_weights_that_a_checkpoint_names_is_left_out(edited):
    folder = edited("BertModel", lambda content: content.update(transformers_weights="adapter_model.bin"))
    torch.save({}, folder / "adapter_model.bin")
    assert any("adapter_model.bin" in note for note in load_model(folder).notes)


def test_code_of_a_checkpoint_is_never_asked_about(edited, nothing_is_fetched, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked whether to run code"))
    code = {"AutoConfig": "code.C", "AutoModel": "code.M", "AutoModelForCausalLM": "other/repo--code.M"}
    folder = edited("BertModel", lambda content: content.update(auto_map=code, architectures=["BertForTea"]))
    (folder / "code.py").write_text("raise SystemExit('this was run')")
    with pytest.raises(CaptureError, match="needs code of its own"):
        load_model(folder)
    assert not nothing_is_fetched


def test_a_backbone_of_the_hub_is_not_fetched(edited, nothing_is_fetched):
    def change(content):
        content.clear()
        content.update(model_type="detr", backbone="someone/backbone", use_pretrained_backbone=True)

    with pytest.raises(CaptureError) as found:
        load_model(edited("BertModel", change))
    assert "\n" not in str(found.value)
    assert not nothing_is_fetched


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden_size", 10**12),
        ("vocab_size", 10**15),
        ("intermediate_size", 10**30),
        ("num_hidden_layers", 10**9),
        ("max_position_embeddings", 10**11),
        ("num_labels", 10**9),
        ("num_attention_heads", 10**10),
    ],
)
def test_sizes_that_the_weights_cannot_have_are_refused_before_anything_is_made(edited, name, value):
    folder = edited("BertModel", lambda content: content.update({name: value}))
    with pytest.raises(CaptureError, match=rf"must give sizes that its weights can have; {name} is 1000"):
        checkpoint_config(folder, "checkpoint", None, [])


def test_sizes_in_a_part_are_looked_at_too(edited):
    def change(content):
        content["vision_config"]["num_hidden_layers"] = 10**9

    with pytest.raises(CaptureError, match="num_hidden_layers is 1000000000"):
        checkpoint_config(edited("CLIPModel", change), "checkpoint", None, [])


def test_large_numbers_that_are_no_sizes_are_taken(edited):
    large = {"rope_theta": 10**12, "bos_token_id": 39, "sliding_window": 10**7, "max_position_embeddings": 16}
    config = checkpoint_config(edited("BertModel", lambda content: content.update(large)), "x", None, [])
    assert config.sliding_window == 10**7


def test_other_sizes_than_those_of_the_weights_are_one_line(edited, capfd):
    with pytest.raises(CaptureError, match="they have other sizes than its configuration") as found:
        load_model(edited("BertModel", lambda content: content.update(hidden_size=32)))
    assert "\n" not in str(found.value)
    assert capfd.readouterr().err == ""


def test_json_nested_too_deeply_is_one_line(tmp_path):
    (tmp_path / "config.json").write_text('{"a":' * 100_000 + "1" + "}" * 100_000)
    with pytest.raises(CaptureError, match=r"config.json must be JSON of a few levels"):
        load_model(tmp_path)
