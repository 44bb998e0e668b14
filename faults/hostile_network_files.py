"""Networks in folders: configurations, weights and pruned networks that another wrote."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from faults.hostile_file import HostileFile, Prepared, deep_json, treacherous_pickle
from faults.hostile_run_files import changed_json
from faults.spoilt import one_of
from faults.templates import template

__all__ = ["NETWORK_FILES", "timm_where_it_is"]

Rng = np.random.Generator


def timm_where_it_is() -> None:
    """Import timm where it lies beside the environment, as the tests have it; else nothing."""
    beside = Path(sys.prefix) / "timm"
    if beside.is_dir():
        from tests.capturing.timm_capture import imported_timm

        imported_timm(str(beside))


def _answer_of(model: Any) -> Any:
    import torch

    with torch.no_grad():
        return model(torch.arange(5)[None]).logits.numpy()


def _loaded(folder: Path) -> Callable[[], Any]:
    def read() -> Any:
        from haarbor.capturing import load_model

        return load_model(folder).model

    return read


def _network(here: Path) -> Path:
    folder = here / "network"
    shutil.copytree((template("capture") / "network").resolve(), folder)
    return folder


def _configuration(rng: Rng, seed: int, here: Path) -> Prepared:
    """config.json with a value changed, or replaced."""
    folder = _network(here)
    path = folder / "config.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    code = {
        "AutoModel": "evil.Evil",
        "AutoConfig": "evil.EvilConfig",
        "AutoModelForCausalLM": "evil--evil.Evil",
    }
    (folder / "evil.py").write_text(
        f"from pathlib import Path\nPath({str(here / 'executed')!r}).write_text('done')\n", encoding="utf-8"
    )
    name = (
        "code of its own",
        "unknown kind",
        "deep",
        "no JSON",
        "a list",
        "a value changed",
        "a value changed",
        "a value changed",
        "another repository",
        "a link",
    )[seed % 10]
    demand: Any = "refused"
    if name == "code of its own":
        document.update(auto_map=code, model_type=one_of(rng, ("evil", "gpt2")), architectures=["Evil"])
        demand = "either"
    elif name == "unknown kind":
        document["model_type"] = one_of(
            rng, ("../evil", "\x1b[2J", "", None, 5, ["gpt2"], {"a": 1}, "x" * 9999)
        )
    elif name == "a value changed":
        odd = (None, -1, 0, 2**40, "x", [], {}, 1e308, True, "\x1b[2J", "../x", 0.5)
        changed_json(document, rng, one_of(rng, odd))
        demand = "either"
    elif name == "another repository":
        document["_name_or_path"] = "https://example.org/evil"
        document["tokenizer_class"] = "evil/evil"
        demand = "either"
    texts = {"deep": deep_json(), "no JSON": "\x00{", "a list": "[1]"}
    path.write_text(texts.get(name, json.dumps(document)), encoding="utf-8")
    if name == "a link":
        path.unlink()
        path.symlink_to("/dev/zero")
    return Prepared(name, _loaded(folder), demand)


def _weights(rng: Rng, seed: int, here: Path) -> Prepared:
    """model.safetensors damaged, pickled, or another's."""
    folder = _network(here)
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    place = int(rng.integers(len(data)))
    name = (
        "cut short",
        "a bit of the header flipped",
        "a pickle",
        "only a pickle",
        "empty",
        "index that climbs",
        "tokenizer that is none",
    )[seed % 7]
    demand: Any = "refused"
    if name == "cut short":
        path.write_bytes(data[:place])
    elif name == "a bit of the header flipped":
        data[place % 2000] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        demand = "either"
    elif name == "a pickle":
        path.write_bytes(treacherous_pickle(here))
    elif name == "only a pickle":
        path.unlink()
        (folder / "pytorch_model.bin").write_bytes(treacherous_pickle(here))
    elif name == "empty":
        path.write_bytes(b"")
    elif name == "index that climbs":
        path.unlink()
        (here / "outside.safetensors").write_bytes(data)
        index = {"metadata": {}, "weight_map": {"transformer.wte.weight": "../outside.safetensors"}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
        demand = "either"
    else:
        texts = (
            "{}",
            deep_json(),
            "[]",
            '{"tokenizer_class": "evil.Evil", "auto_map": {"AutoTokenizer": "e.E"}}',
            "\0",
        )
        (folder / "tokenizer_config.json").write_text(one_of(rng, texts), encoding="utf-8")
        (folder / "tokenizer.json").write_text(one_of(rng, texts), encoding="utf-8")
        demand = "either"
    return Prepared(name, _loaded(folder), demand)


def _pruned(rng: Rng, seed: int, here: Path) -> Prepared:
    """pruned.json with a value changed, or made to load something else."""
    from haarbor import load_pruned

    folder = here / "model"
    shutil.copytree(template("prune") / "pruned" / "model", folder)
    path = folder / "pruned.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    whole = _answer_of(load_pruned(folder))
    pickled = here / "evil.pth"
    pickled.write_bytes(treacherous_pickle(here))
    name = (
        "a value changed",
        "a value changed",
        "a value changed",
        "another library",
        "a pickle by timm",
        "timm from a hub",
        "a name that is no class",
        "deep",
        "weights cut short",
        "huge layers",
        "weights a pickle",
        "no layers",
    )[seed % 12]
    demand: Any = "refused"
    if name == "a value changed":
        odd = (
            None,
            -1,
            0,
            2**40,
            "x",
            [],
            {},
            1e308,
            "\x1b[2J",
            "../x",
            [0],
            "__class__",
            "os.system",
            [0, 0],
        )
        changed_json(document, rng, one_of(rng, odd))
        demand = "either"
    elif name == "another library":
        document["network"]["library"] = one_of(
            rng, ("os", "subprocess", "torch", "", None, "../x", ["os"], "timm.evil")
        )
    elif name == "a pickle by timm":
        config = {"checkpoint_path": str(pickled), "num_classes": 3}
        config = config if seed % 24 < 12 else {"pretrained_cfg": {"file": str(pickled)}, "pretrained": True}
        document["network"] = {"library": "timm", "architecture": "vit_tiny_patch16_224", "config": config}
    elif name == "timm from a hub":
        place = one_of(rng, ("hf-hub:evil/evil", "hf_hub:evil/evil", "local-dir:" + str(here)))
        document["network"] = {"library": "timm", "architecture": place, "config": {}}
    elif name == "a name that is no class":
        document["network"]["architecture"] = one_of(
            rng, ("pipeline", "AutoModel", "__name__", "", "\x1b[2J", "utils")
        )
    elif name == "huge layers":
        document["network"]["config"].update(n_embd=2**18, n_head=2**18)
    elif name == "no layers":
        document["layers"] = one_of(rng, ([], None, [{}], [None], [5], "x"))
    path.write_text(deep_json() if name == "deep" else json.dumps(document), encoding="utf-8")
    weights = folder / "model.safetensors"
    if name == "weights cut short":
        weights.write_bytes(weights.read_bytes()[: int(rng.integers(weights.stat().st_size))])
    elif name == "weights a pickle":
        weights.write_bytes(treacherous_pickle(here))

    def law(answer: Any) -> str | None:
        same = answer.shape == whole.shape and np.allclose(answer, whole, atol=1e-5)
        return None if same else "another network in silence"

    # A changed configuration may make another network of the same weights; that it is one, the file says.
    harmless = name == "a value changed"
    return Prepared(
        name, lambda: _answer_of(load_pruned(folder)), demand, (lambda answer: None) if harmless else law
    )


NETWORK_FILES = {
    "config.json": HostileFile(_configuration, 20, 300),
    "weights": HostileFile(_weights, 14, 140),
    "pruned.json": HostileFile(_pruned, 36, 480),
}
