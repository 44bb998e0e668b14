"""Networks are only rebuilt from descriptions that closed lists allow."""

import sys
import types

import pytest
import torch

from haarbor.errors import PruningError
from haarbor.pruning._rebuilding import SizeLimits, rebuilt_network

LIMITS = SizeLimits(n_tensors=100, n_elements=10**6, most_heads=8)


@pytest.fixture
def timm(monkeypatch):
    """A library of this name that tells what it was asked for."""
    asked = []

    def create_model(name, **options):
        asked.append((name, options))
        return torch.nn.Linear(2, 2)

    found = types.ModuleType("timm")
    found.create_model, found.asked = create_model, asked
    found.is_model = lambda name: name in ("vit_tiny_patch16_224", "resnet18")
    monkeypatch.setitem(sys.modules, "timm", found)
    return found


@pytest.mark.parametrize(
    "architecture",
    ["hf-hub:evil/model", "hf_hub:evil/model", "local-dir:/tmp/evil", "timm/vit_tiny_patch16_224", "unknown",
     "../vit_tiny_patch16_224", "vit_tiny_patch16_224.augreg_in21k", "", "/etc/passwd", "VIT\n"],
)  # fmt: skip
def test_timm_is_only_asked_for_names_of_its_registry(architecture, timm):
    description = {"library": "timm", "architecture": architecture, "config": {}}
    with pytest.raises(PruningError, match="the network must be one that timm has"):
        rebuilt_network(description, LIMITS)
    assert timm.asked == []


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("checkpoint_path", "/etc/passwd"),
        ("pretrained", True),
        ("pretrained_cfg", {"file": "/etc/passwd"}),
        ("pretrained_cfg_overlay", {"url": "http://evil"}),
        ("cache_dir", "/tmp"),
        ("norm_layer", "os.system"),
        ("features_only", True),
        ("scriptable", True),
        ("num_classes", "5"),
        ("num_classes", -1),
        ("num_classes", True),
        ("num_classes", 10**12),
        ("img_size", [224, 224, 224]),
        ("img_size", {}),
        ("global_pool", "evil"),
        ("qkv_bias", 1),
        ("init_values", "x"),
    ],
)
def test_options_of_timm_are_those_of_a_closed_list(option, value, timm):
    description = {"library": "timm", "architecture": "vit_tiny_patch16_224", "config": {option: value}}
    with pytest.raises(PruningError, match=f"option .*{option}"):
        rebuilt_network(description, LIMITS)
    assert timm.asked == []


def test_timm_never_fetches_weights(timm):
    config = {"num_classes": 5, "img_size": [32, 32], "global_pool": "avg", "qkv_bias": True}
    rebuilt_network({"library": "timm", "architecture": "vit_tiny_patch16_224", "config": config}, LIMITS)
    expected = {
        "pretrained": False,
        "num_classes": 5,
        "img_size": (32, 32),
        "global_pool": "avg",
        "qkv_bias": True,
    }
    # Once to find out its sizes, and once for good.
    assert timm.asked == [("vit_tiny_patch16_224", expected)] * 2
