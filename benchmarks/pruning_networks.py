"""Networks and data of the pruning benchmark: one function a network."""

from __future__ import annotations

import csv
import lzma
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from fetch_pruning_data import GEMMA_FILE
from torch.nn import functional

from haarbor.capturing import load_model
from haarbor.capturing.inputs import image_samples
from haarbor.errors import DataError
from haarbor.pruning import Metric, ModelBatch, masked_token_loss, model_batches, require_disjoint
from haarbor.pruning._metrics import METRICS, logits_of, measure
from haarbor.pruning._model_batches import forward

__all__ = ["NETWORKS", "Case", "Places"]

Role = Literal["chosen on", "confirmed on"]
"""Whether scores and settings were chosen by looking at a network, or only tried on it afterwards."""

_SMILES = re.compile(
    r"\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>>?|\*|\$|%[0-9]{2}|[0-9]"
)
_REACTION_TOKENS = 128
_RESIDUES = 112
_STRETCH = 48


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Case:
    """A network, and what it is calibrated and measured on."""

    name: str
    model: torch.nn.Module
    calibration: tuple[ModelBatch, ...]
    evaluation: tuple[ModelBatch, ...]
    metric: Metric
    role: Role
    about: str
    """Network and data, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders that networks and data are read from; None where not given."""

    networks: Path | None = None
    wikitext: Path | None = None
    cifar: Path | None = None
    data: Path | None = None
    model: Path | None = None

    def folder(self, option: Literal["networks", "wikitext", "cifar", "data"], *parts: str) -> Path:
        """A folder of one of the options.

        Raises
        ------
        DataError
            If the option was not given, or there is no such folder.
        """
        given: Path | None = getattr(self, option)
        if given is None:
            raise DataError(f"this network needs a folder: give it with --{option}.")
        found = given.joinpath(*parts)
        if not found.is_dir():
            wanted = "/".join(parts) or "the data"
            raise DataError(f"--{option} must be a folder that holds {wanted}; {found} is none.")
        return found

    def text(self, part: str) -> str:
        """A part of WikiText-2."""
        path = self.folder("wikitext") / f"{part}.txt.xz"
        if not path.exists():
            raise DataError(f"--wikitext must hold {path.name}; {path.parent} does not.")
        return lzma.open(path, "rt", encoding="utf-8").read()


def transformer_xl(places: Places, *, n_calibration: int = 16, n_evaluation: int = 32) -> Case:
    """The embedded Transformer-XL, or a larger one of the same kind; loss on text."""
    loaded, name, role = _zoo_network("transformer-xl", places)

    def windows(part: str, n_windows: int) -> tuple[ModelBatch, ...]:
        return _windows(
            loaded.tokenizer(places.text(part)[: n_windows * 512 * 9])["input_ids"], n_windows, 512
        )

    return Case(
        name=name,
        model=loaded.model,
        calibration=windows("valid", n_calibration),
        evaluation=windows("test", n_evaluation),
        metric=Metric(
            "late-loss",
            lambda model, batch: _late_loss(logits_of(forward(model, batch)), batch),
            shown=_late_half,
            of_answer=_late_loss,
            graded_of_answer=_late_loss,
        ),
        role=role,
        about="Transformer-XL of WikiText-2; loss on the second half of windows of 512 tokens of the test "
        "text, calibration on windows of the validation text",
    )


def _late_loss(logits: torch.Tensor, batch: ModelBatch) -> tuple[torch.Tensor, float]:
    """Loss on the second half of each window.

    A Transformer-XL was trained with a memory of at least 256 tokens before each segment. Windows are read
    here without a memory, so tokens at their beginning see less than in training, and heads that look far
    back seem of no use there. Every token scored has at least 256 tokens of context.
    """
    tokens = _tokens(batch).to(logits.device)
    half = tokens.shape[1] // 2
    answers = tokens[:, half:].reshape(-1)
    scored = logits[:, half - 1 : -1].reshape(answers.numel(), -1).float()
    return functional.cross_entropy(scored, answers, reduction="sum"), float(answers.numel())


def _late_half(batch: ModelBatch) -> ModelBatch:
    """The batch, with the answers that are scored."""
    tokens = _tokens(batch)
    places = torch.arange(tokens.shape[1])
    half = tokens.shape[1] // 2
    late = (places >= half - 1) & (places < tokens.shape[1] - 1)
    return replace(batch, counted=late.expand(tokens.shape))


def vision_transformer(places: Places, *, n_calibration: int = 64, n_evaluation: int = 20) -> Case:
    """The embedded Vision Transformer, or a larger one of the same kind; classes of CIFAR-10."""
    from PIL import Image

    loaded, name, role = _zoo_network("vision-transformer", places)
    folder = places.folder("cifar")
    for file in ("test.jpg", "labels.npz"):
        if not (folder / file).exists():
            raise DataError(f"--cifar must hold {file}; {folder} does not.")
    labels = np.load(folder / "labels.npz")

    tiles = np.asarray(Image.open(folder / "test.jpg")).reshape(100, 32, 100, 32, 3).swapaxes(1, 2)
    images = tiles.reshape(-1, 32, 32, 3)

    def batches(begin: int, n_batches: int, size: int) -> tuple[ModelBatch, ...]:
        chosen = slice(begin, begin + n_batches * size)
        samples = image_samples(images[chosen], settings=loaded.takes)
        pixels = torch.cat([sample.inputs["pixel_values"] for sample in samples])
        classes = torch.as_tensor(labels["y_test"][chosen].astype(np.int64))
        return model_batches(
            {"pixel_values": pixels[place : place + size], "labels": classes[place : place + size]}
            for place in range(0, len(pixels), size)
        )

    return Case(
        name=name,
        model=loaded.model,
        # Images it was trained on would not do: it hardly errs on them, and gradients say nothing there.
        calibration=batches(5000, n_calibration, 1),
        evaluation=batches(0, n_evaluation, 50),
        metric=METRICS["classification-loss"],
        role=role,
        about="Vision Transformer; classification loss on CIFAR-10 test images in batches of 50, calibration "
        "on other test images one by one",
    )


def smollm2(places: Places, *, n_calibration: int = 16, n_evaluation: int = 24) -> Case:
    """SmolLM2-135M, a decoder with shared keys and values; loss on text."""
    folder = places.folder("networks", "smollm2")
    loaded = load_model(folder, gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf", dtype="float32")

    def windows(words: str, n_windows: int) -> tuple[ModelBatch, ...]:
        options = {"add_special_tokens": False, "verbose": False}
        ids = loaded.tokenizer(words[: n_windows * 256 * 8], **options)["input_ids"]
        return _windows(ids, n_windows, 256)

    lines = [line.strip() for line in places.text("test").splitlines()]
    return Case(
        name="smollm2",
        model=loaded.model,
        calibration=windows(places.text("train"), n_calibration),
        evaluation=windows("".join(lines), n_evaluation),
        metric=METRICS["loss"],
        role="chosen on",
        about="SmolLM2-135M-Instruct, read from 4 bits a weight; loss on windows of 256 tokens of the "
        "WikiText-2 test text, calibration on windows of the training text",
    )


def gemma3(places: Places, *, n_calibration: int = 16, n_evaluation: int = 24) -> Case:
    """Gemma 3 270M, a decoder whose layers mostly see a window; loss on text."""
    loaded = load_model(places.folder("data", "gemma3"), gguf_file=GEMMA_FILE, dtype="float32")

    def windows(words: str, n_windows: int) -> tuple[ModelBatch, ...]:
        options = {"add_special_tokens": False, "verbose": False}
        ids = loaded.tokenizer(words[: n_windows * 256 * 8], **options)["input_ids"]
        # The network expects every text to begin with its sign for a beginning.
        begins = [
            [loaded.tokenizer.bos_token_id, *ids[place : place + 255]]
            for place in range(0, n_windows * 255, 255)
        ]
        return _windows([token for window in begins for token in window], n_windows, 256)

    return Case(
        name="gemma3",
        model=loaded.model,
        calibration=windows(places.text("train"), n_calibration),
        evaluation=windows(places.text("test"), n_evaluation),
        metric=METRICS["loss"],
        role="confirmed on",
        about="Gemma 3 270M, read from 4 bits a weight; loss on windows of 256 tokens of the WikiText-2 "
        "test text, calibration on windows of the training text",
    )


def minilm(places: Places, *, n_calibration: int = 8, n_evaluation: int = 22) -> Case:
    """all-MiniLM-L6-v2, an encoder of sentences; how alike people find two sentences."""
    loaded = load_model(places.folder("networks", "minilm"), dtype="float32")
    folder, size = places.folder("data", "sts-b"), 50

    def rows(part: str) -> list[list[str]]:
        # Columns: genre, file, year, number, score, and the two sentences; some rows name sources after them.
        lines = (folder / f"{part}.tsv").read_text(encoding="utf-8").split("\n")
        return [line.split("\t") for line in lines if line]

    training = rows("train")
    known = {sentence for row in training for sentence in row[5:7]}
    new = [row for row in rows("test") if known.isdisjoint(row[5:7])]

    def batches(given: list[list[str]], n_batches: int) -> tuple[ModelBatch, ...]:
        made = []
        options = {"padding": "max_length", "truncation": True, "max_length": 48, "return_tensors": "pt"}
        for chosen in _groups(_shuffled(given), n_batches, size):
            both = [row[5] for row in chosen] + [row[6] for row in chosen]
            inputs = loaded.tokenizer(both, **options)
            scores = torch.tensor([float(row[4]) for row in chosen]).repeat(2)
            made.append({**_ids_and_mask(inputs), "labels": scores})
        return model_batches(made)

    return Case(
        name="minilm",
        model=loaded.model,
        calibration=batches(training, n_calibration),
        evaluation=batches(new, n_evaluation),
        metric=Metric("one-minus-correlation", _one_minus_correlation),
        role="confirmed on",
        about="all-MiniLM-L6-v2; one minus the correlation, within batches of 50 pairs, of the cosine of two "
        "sentences with the score people gave them (STS-B test part without sentences of the training part), "
        "calibration on the training part",
    )


def minilm_halves(places: Places, *, n_calibration: int = 16, n_evaluation: int = 24) -> Case:
    """all-MiniLM-L6-v2 on text that needs no human scores: which second half belongs to a first half."""
    loaded = load_model(places.folder("networks", "minilm"), dtype="float32")
    size = 50

    def batches(part: str, n_batches: int) -> tuple[ModelBatch, ...]:
        paragraphs = [line.split() for line in places.text(part).splitlines() if len(line.split()) >= 80]
        made = []
        options = {"padding": "max_length", "truncation": True, "max_length": 48, "return_tensors": "pt"}
        for chosen in _groups(_shuffled(paragraphs), n_batches, size):
            both = [" ".join(words[:40]) for words in chosen] + [" ".join(words[40:80]) for words in chosen]
            made.append(_ids_and_mask(loaded.tokenizer(both, **options)))
        return model_batches(made)

    return Case(
        name="minilm-halves",
        model=loaded.model,
        calibration=batches("train", n_calibration),
        evaluation=batches("test", n_evaluation),
        metric=Metric("matching-loss", _matching_loss),
        role="confirmed on",
        about="all-MiniLM-L6-v2; cross-entropy of telling, by 20 times the cosine, which of 50 continuations "
        "belongs to the beginning of a paragraph of the WikiText-2 test text, calibration on the training "
        "text",
    )


def _matching_loss(model: torch.nn.Module, batch: ModelBatch) -> tuple[torch.Tensor, float]:
    """Loss of matching halves; the first halves of a batch come before all the second ones."""
    if batch.valid is None:
        raise DataError("matching needs an attention mask.")
    hidden = forward(model, batch).last_hidden_state
    mask = batch.valid[..., None].to(hidden)
    vectors = functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
    half = len(batch) // 2
    scores = 20 * vectors[:half] @ vectors[half:].T
    return functional.cross_entropy(scores, torch.arange(half, device=scores.device), reduction="sum"), float(
        half
    )


def _one_minus_correlation(model: torch.nn.Module, batch: ModelBatch) -> tuple[torch.Tensor, float]:
    """One minus Pearson's correlation; the first sentences of a batch come before all the second ones."""
    if batch.labels is None or batch.valid is None:
        raise DataError("the correlation needs human scores as labels and an attention mask.")
    hidden = forward(model, batch).last_hidden_state
    mask = batch.valid[..., None].to(hidden)
    vectors = functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
    half = len(batch) // 2
    cosine = (vectors[:half] * vectors[half:]).sum(-1)
    given = batch.labels[:half].to(cosine)
    cosine, given = cosine - cosine.mean(), given - given.mean()
    return (1 - (cosine * given).sum() / (cosine.norm() * given.norm())) * half, float(half)


def rxnmapper(places: Places, *, n_calibration: int = 24, n_evaluation: int = 48) -> Case:
    """RXNMapper, an ALBERT of chemical reactions: its layers share their weights; loss at hidden tokens."""
    loaded = load_model(places.folder("networks", "rxnmapper"), dtype="float32")
    tokenizer = loaded.tokenizer
    training, new = _reactions(places)

    def batches(given: list[tuple[str, str]], n_batches: int, size: int = 8) -> tuple[ModelBatch, ...]:
        options = {"padding": "max_length", "max_length": _REACTION_TOKENS, "return_tensors": "pt"}
        return model_batches(
            _ids_and_mask(tokenizer([reaction for reaction, _class in chosen], **options))
            for chosen in _groups(given, n_batches, size)
        )

    evaluation = batches(new, n_evaluation)
    return Case(
        name="rxnmapper",
        model=loaded.model,
        calibration=_unlike(batches(training, 2 * n_calibration), evaluation, n_calibration),
        evaluation=evaluation,
        metric=masked_token_loss(tokenizer.mask_token_id, kept=tokenizer.all_special_ids),
        # That only hidden tokens count for the responses was seen here.
        role="chosen on",
        about="RXNMapper (ALBERT); loss at hidden tokens of patent reactions, 8 a batch, calibration on "
        "other reactions",
    )


def _unlike(
    batches: Sequence[ModelBatch], others: Sequence[ModelBatch], n_batches: int
) -> tuple[ModelBatch, ...]:
    """The first batches that hardly share any text with others: some reactions are all but the same."""
    found: list[ModelBatch] = []
    for batch in batches:
        with suppress(DataError):
            require_disjoint([batch], others)
            found.append(batch)
        if len(found) == n_batches:
            return tuple(found)
    raise DataError(f"there must be {n_batches} batches unlike those measured on; found {len(found)}.")


def rxnfp(places: Places, *, n_calibration: int = 24, n_evaluation: int = 60) -> Case:
    """rxnfp, a BERT that classifies chemical reactions.

    Raises
    ------
    DataError
        If the whole network is not right on nine reactions in ten: its classes would be in another order.
    """
    folder = places.folder("data", "rxnfp")
    model = load_model(folder, dtype="float32").model
    number = _vocabulary(folder)
    training, new = _reactions(places)
    # The checkpoint does not name its classes; they are in the order of their names as text.
    classes = sorted({name for _, name in training})

    def batches(given: list[tuple[str, str]], n_batches: int, size: int = 8) -> tuple[ModelBatch, ...]:
        made = []
        for chosen in _groups(given, n_batches, size):
            ids = torch.zeros((size, _REACTION_TOKENS), dtype=torch.long)
            for row, (reaction, _class) in enumerate(chosen):
                tokens = ["[CLS]", *_SMILES.findall(reaction), "[SEP]"]
                known = [number.get(token, number["[UNK]"]) for token in tokens]
                ids[row, : len(known)] = torch.tensor(known)
            labels = torch.tensor([classes.index(name) for _, name in chosen])
            made.append(
                {"input_ids": ids, "attention_mask": (ids != number["[PAD]"]).long(), "labels": labels}
            )
        return model_batches(made)

    evaluation = batches(new, n_evaluation)
    accuracy = measure(model, evaluation, METRICS["accuracy"]).value
    if accuracy < 0.9:
        raise DataError(
            f"rxnfp must be right on 0.9 of the test reactions; found {accuracy:.3f}. Its classes are in "
            "another order."
        )
    return Case(
        name="rxnfp",
        model=model,
        # It has learnt its training part by heart, so that gradients say nothing there.
        calibration=batches(new[n_evaluation * 8 :], n_calibration),
        evaluation=evaluation,
        metric=METRICS["classification-loss"],
        role="confirmed on",
        about="rxnfp (BERT); classification loss on patent reactions of 50 classes, 8 a batch, calibration "
        f"on others of its test part; accuracy of the whole network {accuracy:.3f}",
    )


def antiberty(places: Places, *, n_calibration: int = 16, n_evaluation: int = 48) -> Case:
    """AntiBERTy, a BERT of antibodies; loss at hidden residues."""
    folder = places.folder("data", "antiberty")
    model = load_model(folder, dtype="float32").model
    number = _vocabulary(folder)
    sequences = _antibodies(places.folder("data", "antibodies") / "sequences.fasta", set(number))
    calibration = sequences[: n_calibration * 8]
    # Antibodies resemble each other: those measured on share no stretch with those calibrated on.
    known = {stretch for sequence in calibration for stretch in _stretches(sequence)}
    evaluation = [sequence for sequence in sequences if known.isdisjoint(_stretches(sequence))]

    def batches(given: Sequence[str], n_batches: int, size: int = 8) -> tuple[ModelBatch, ...]:
        made = []
        for chosen in _groups(given, n_batches, size):
            ids = torch.tensor(
                [[number[token] for token in ("[CLS]", *sequence, "[SEP]")] for sequence in chosen]
            )
            made.append({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
        return model_batches(made)

    special = [number[token] for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")]
    return Case(
        name="antiberty",
        model=model,
        calibration=batches(calibration, n_calibration),
        evaluation=batches(evaluation, n_evaluation),
        metric=masked_token_loss(number["[MASK]"], kept=special),
        role="confirmed on",
        about=f"AntiBERTy (BERT); loss at hidden residues of the first {_RESIDUES} of antibodies, 8 a batch, "
        f"calibration on others without a stretch of {_STRETCH} residues in common",
    )


NETWORKS = {
    "transformer-xl": transformer_xl,
    "vision-transformer": vision_transformer,
    "smollm2": smollm2,
    "gemma3": gemma3,
    "minilm": minilm,
    "minilm-halves": minilm_halves,
    "rxnmapper": rxnmapper,
    "rxnfp": rxnfp,
    "antiberty": antiberty,
}


def _zoo_network(kind: str, places: Places) -> tuple[Any, str, Role]:
    """A network of the package or of a folder, the name of its case, and its role."""
    if places.model is None:
        return load_model(f"zoo:{kind}"), kind, "chosen on"
    if not places.model.is_dir():
        raise DataError(
            f"--model must be a folder with a network of the kind {kind}; {places.model} is none."
        )
    loaded = load_model(places.model)
    if loaded.model.__class__.__name__.lower() != kind.replace("-", ""):
        raise DataError(
            f"--model must hold a network of the kind {kind}; found a {type(loaded.model).__name__}."
        )
    sizes = loaded.model.config
    return loaded, f"{kind}-{sizes.n_layers}x{sizes.n_heads}", "confirmed on"


def _windows(ids: Sequence[int], n_windows: int, length: int) -> tuple[ModelBatch, ...]:
    """Token ids cut into windows, one a batch."""
    if len(ids) < n_windows * length:
        raise DataError(f"the text must have {n_windows * length} tokens; found {len(ids)}.")
    tokens = torch.tensor(ids[: n_windows * length]).view(n_windows, length)
    return model_batches({"input_ids": row[None]} for row in tokens)


def _groups(items: Sequence[Any], n_groups: int, size: int) -> Iterator[Sequence[Any]]:
    if len(items) < n_groups * size:
        raise DataError(f"the data must hold {n_groups * size} samples; found {len(items)}.")
    for begin in range(0, n_groups * size, size):
        yield items[begin : begin + size]


def _shuffled(items: Sequence[Any]) -> list[Any]:
    return [items[place] for place in np.random.default_rng(0).permutation(len(items))]


def _ids_and_mask(inputs: Any) -> dict[str, torch.Tensor]:
    return {name: inputs[name] for name in ("input_ids", "attention_mask")}


def _tokens(batch: ModelBatch) -> torch.Tensor:
    if batch.tokens is None:
        raise DataError("the loss on text needs token ids; the batch has none.")
    return batch.tokens


def _vocabulary(folder: Path) -> dict[str, int]:
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return {token.strip(): number for number, token in enumerate(lines) if token.strip()}


def _reactions(places: Places) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Reactions and their classes for training and for testing, those short enough to be read whole.

    One in fifteen of the reactions for testing is among those for training too; they are left out.
    """
    path = places.folder("data", "reactions") / "schneider50k.tsv"
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if len(_SMILES.findall(row["rxn"])) <= _REACTION_TOKENS - 2:
                parts[row["split"]].append((row["rxn"], row["rxn_class"]))
    known = {reaction for reaction, _ in parts["train"]}
    # Some stand there twice.
    new = {reaction: kind for reaction, kind in parts["test"] if reaction not in known}
    return _shuffled(parts["train"]), _shuffled(list(new.items()))


def _antibodies(path: Path, residues: Iterable[str]) -> list[str]:
    """Distinct sequences of one length, in an order of chance that is always the same."""
    records = path.read_text(encoding="utf-8").split(">")[1:]
    whole = ["".join(record.split("\n")[1:]).strip() for record in records]
    known = set(residues)
    long = [sequence for sequence in whole if len(sequence) >= _RESIDUES and known.issuperset(sequence)]
    return _shuffled(sorted({sequence[:_RESIDUES] for sequence in long}))


def _stretches(sequence: str) -> Iterator[str]:
    for begin in range(len(sequence) - _STRETCH + 1):
        yield sequence[begin : begin + _STRETCH]
