import json

import pytest

torch = pytest.importorskip("torch")

from haarbor.errors import CaptureError  # noqa: E402
from haarbor.zoo import (  # noqa: E402
    TransformerXL,
    TransformerXLConfig,
    VisionTransformer,
    VisionTransformerConfig,
    load_checkpoint,
    save_checkpoint,
)


@pytest.fixture
def folder(tmp_path):
    torch.manual_seed(0)
    config = TransformerXLConfig(
        vocab_size=20, width=8, n_layers=1, n_heads=2, head_width=4, inner_width=8, memory_length=4
    )
    save_checkpoint(tmp_path / "small", TransformerXL(config), {"quality": 1})
    return tmp_path / "small"


def test_a_network_comes_back_as_it_was_to_half_precision(tmp_path):
    torch.manual_seed(0)
    config = VisionTransformerConfig(
        image_size=4, patch_size=2, width=8, n_layers=1, n_heads=2, inner_width=8, n_classes=3
    )
    model = VisionTransformer(config)
    save_checkpoint(tmp_path, model, {})
    again = load_checkpoint(tmp_path)
    assert again.config == config
    assert not again.training
    for name, weight in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight.half().float())


def test_training_record_is_kept(folder):
    assert json.loads((folder / "training.json").read_text()) == {"quality": 1}


def damaged(folder, name, content):
    (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: (folder / "config.json").unlink(),
        lambda folder: damaged(folder, "config.json", b"{"),
        lambda folder: damaged(folder, "config.json", b"[]"),
        lambda folder: damaged(folder, "config.json", b'{"kind": "gru"}'),
        lambda folder: damaged(folder, "model.safetensors", b"1234"),
        lambda folder: damaged(
            folder,
            "config.json",
            (folder / "config.json").read_bytes().replace(b'"width": 8', b'"width": 16'),
        ),
    ],
    ids=["no weights", "no config", "no json", "a list", "unknown kind", "no safetensors", "other sizes"],
)
def test_a_damaged_folder_is_refused_in_one_line(folder, harm):
    harm(folder)
    with pytest.raises(CaptureError, match=r"^small must hold config.json and model.safetensors") as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)
    assert str(folder.parent) not in str(caught.value)


def changed(folder, **changes):
    content = json.loads((folder / "config.json").read_text())
    damaged(folder, "config.json", json.dumps({**content, **changes}).encode())


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 10**12},
        {"vocab_size": 10**30},
        {"n_layers": 10**9},
        {"n_layers": -1},
        {"n_heads": 0},
        {"n_heads": True},
        {"head_width": 2.5},
        {"memory_length": None},
        {"dropout": "much"},
        {"kind": ["transformer-xl"]},
        {"surprise": 1},
    ],
    ids=str,
)
def test_absurd_sizes_are_refused_in_one_line_and_take_no_memory(folder, changes):
    changed(folder, **changes)
    with pytest.raises(CaptureError, match=r"^small must hold config.json and model.safetensors") as caught:
        load_checkpoint(folder)
    assert "\n" not in str(caught.value)


def test_json_nested_too_deeply_is_refused_in_one_line(folder):
    damaged(folder, "config.json", b"[" * 100_000)
    with pytest.raises(CaptureError, match="nested too deeply"):
        load_checkpoint(folder)


@pytest.mark.parametrize(
    "name", [None, "", 5, "a\0b", "x" * 5000], ids=["None", "empty", "number", "NUL", "long"]
)
def test_what_is_no_path_is_refused(name):
    with pytest.raises(CaptureError, match="a network must be given by") as caught:
        load_checkpoint(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_folder_may_be_given_as_text(folder):
    assert load_checkpoint(str(folder)).config.width == 8
