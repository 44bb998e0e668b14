"""A digest tells two checkpoints of one architecture apart, and nothing that is the same."""

import hashlib
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from safetensors.numpy import load_file  # noqa: E402

from haarbor.capturing import capture, load_model  # noqa: E402
from haarbor.capturing._model_identity import config_digest, library_versions  # noqa: E402
from haarbor.capturing._weights_digest import weights_digest  # noqa: E402
from haarbor.errors import StoreError  # noqa: E402
from haarbor.zoo import embedded_folder  # noqa: E402
from tests.capturing.small_models import SMALL_MODELS, gpt2  # noqa: E402

# Of the files in the package: whoever trains the networks anew writes down the new ones.
EMBEDDED = {
    "transformer-xl": "sha256:1b7b731f1555da4b6c3fb4b4fb9b10693c002d3d44f0fdc4710fb53c25482b08",
    "vision-transformer": "sha256:19bfa06d9a0a8a6ab79270260d01eb7d0117489a4e55f12ef1f93c8c5dc8107f",
}


def test_a_capture_does_not_go_on_with_another_checkpoint(tmp_path):
    small = SMALL_MODELS["gpt2"]
    batches = [small.batch(), small.batch()]

    def stop(_step, _done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        capture(small.build("eager"), batches, tmp_path / "run", on_progress=stop)
    other = small.build("eager")
    with torch.no_grad():
        other.lm_head.weight[0, 0] += 1
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(StoreError, match="the weights of GPT2LMHeadModel differ: sha256:") as found:
        capture(other, batches, tmp_path / "run")
    assert "\n" not in str(found.value)
    assert "config_digest" not in str(found.value)
    assert before == {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert capture(small.build("eager"), batches, tmp_path / "run").n_batches == 2


def test_settings_that_shape_no_weight_change_the_digest():
    from haarbor.zoo import TransformerXL, TransformerXLConfig

    sizes = {"vocab_size": 9, "width": 8, "n_layers": 1, "head_width": 4, "n_heads": 2, "inner_width": 8}
    torch.manual_seed(0)
    one = TransformerXL(TransformerXLConfig(**sizes, memory_length=4))
    two = TransformerXL(TransformerXLConfig(**sizes, memory_length=8))
    two.load_state_dict(one.state_dict())
    assert weights_digest(one) == weights_digest(two)
    assert config_digest(one) != config_digest(two)


def test_how_the_attention_is_computed_does_not_change_the_digest():
    assert config_digest(SMALL_MODELS["gpt2"].build("sdpa")) == config_digest(gpt2())


def slow_digest(arrays):
    """The same digest of arrays by name, in numpy alone."""
    lines = []
    for name in sorted(arrays):
        values = arrays[name]
        text = f"torch.{values.dtype} {values.shape}".encode()
        lines.append(
            [name, hashlib.sha256(text + values.astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()]
        )
    return "sha256:" + hashlib.sha256(json.dumps(lines).encode()).hexdigest()


@pytest.mark.parametrize("name", list(EMBEDDED))
def test_the_digest_of_an_embedded_network_is_the_same_on_every_machine(name):
    assert weights_digest(load_model(f"zoo:{name}").model) == EMBEDDED[name]
    stored = load_file(embedded_folder(name) / "model.safetensors")
    assert slow_digest({key: value.astype(np.float32) for key, value in stored.items()}) == EMBEDDED[name]


def test_timm_counts_where_a_part_of_the_model_is_its_own(monkeypatch):
    def asked_for(names):
        return dict.fromkeys(names, "1")

    monkeypatch.setattr("haarbor.capturing._model_identity.installed_versions", asked_for)
    theirs = type("Block", (torch.nn.Linear,), {"__module__": "timm.layers.block"})
    derived = type("MyBlock", (theirs,), {"__module__": "mine"})
    assert set(library_versions(torch.nn.Sequential(torch.nn.Linear(2, 2)))) == {
        "torch",
        "transformers",
        "numpy",
    }
    for model in (theirs(2, 2), torch.nn.Sequential(derived(2, 2))):
        assert "timm" in library_versions(model)
