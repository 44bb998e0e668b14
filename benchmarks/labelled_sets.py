"""Public data as matrices and tensors whose items have known labels, prepared as written down here.

What is done to each set was fixed before anything was measured on it: scales, numbers of items and which axis
is held out. Items whose order in the file means nothing are shuffled, so that the order trees, from which
Haar trees start, know nothing; places, wavelengths and times keep their order. Every `draw`, a number, is
another order, and of bfi and Indian Pines another choice of persons or pixels.
"""

import csv
import json
from dataclasses import dataclass

import numpy as np

# The key of the test: who agrees with these has less of the trait.
REVERSED = ("A1", "C4", "C5", "E1", "E2", "O2", "O5")
N_PERSONS, N_GENES, N_PIXELS = 1000, 1000, 800
# Words in at least this number of reports; countries with at least this number of reports.
FEWEST_REPORTS, FEWEST_OF_COUNTRY = 10, 10


@dataclass
class LabelledSet:
    """A tensor, the labels of the items of one axis, and the axis of which halves are held out."""

    name: str
    X: np.ndarray
    axes: tuple[str, ...]
    held_out: str
    labelled: str | None = None
    labels: np.ndarray | None = None


def standardised(X):
    """Each column with mean 0 and standard deviation 1."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)


def shuffled(draw, name, X, axes, held_out, labels, ordered=()):
    """Set with every axis in a random order that is not in `ordered`; the labelled axis is the first."""
    rng = np.random.default_rng(draw)
    for place, axis in enumerate(axes):
        order = np.arange(X.shape[place]) if axis in ordered else rng.permutation(X.shape[place])
        X = np.take(X, order, axis=place)
        if place == 0 and labels is not None:
            labels = np.asarray(labels)[order]
    labelled = None if labels is None else axes[0]
    return LabelledSet(name, np.ascontiguousarray(X), axes, held_out, labelled, labels)


def personality(folder, draw):
    """25 questions by 1,000 persons who answered all; the label of a question is its scale, of five."""
    with (folder / "bfi.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if len(name) == 2 and name[0] in "ACENO"]
    answers = np.array([[float(row[n]) for n in names] for row in rows if all(row[n] != "NA" for n in names)])
    chosen = np.random.default_rng(draw).choice(len(answers), N_PERSONS, replace=False)
    answers = answers[np.sort(chosen)]
    for place, name in enumerate(names):
        if name in REVERSED:
            answers[:, place] = 7 - answers[:, place]
    return shuffled(
        draw, "bfi", standardised(answers).T, ("question", "person"), "person", [name[0] for name in names]
    )


def cancer_cells(folder, draw):
    """64 cells by the 1,000 genes that vary most, each standardised; labels as in the file, 14 of them."""
    X = np.load(folder / "NCI60data.npy")
    with (folder / "NCI60labs.csv").open() as file:
        labels = [row["label"] for row in csv.DictReader(file)]
    most = np.sort(np.argsort(-X.var(axis=0), kind="stable")[:N_GENES])
    return shuffled(draw, "NCI60", standardised(X[:, most]), ("cell", "gene"), "gene", labels)


def blood_cells(folder, draw):
    """700 cells by 765 genes, scaled as they are in the file; 10 types of cells."""
    with np.load(folder / "pbmc68k.npz") as file:
        return shuffled(draw, "pbmc68k", file["X"], ("cell", "gene"), "gene", file["labels"])


def serology(folder, draw):
    """438 samples of blood by antigens by receptors, as in the file; labels: the course of the illness."""
    X = np.load(folder / "COVID19_data.npy")
    labels = json.loads((folder / "COVID19_labels.json").read_text())
    return shuffled(draw, "COVID-19", X, ("sample", "antigen", "receptor"), "receptor", labels)


def crops(folder, draw):
    """800 pixels with a known crop by 200 bands, each standardised; 16 crops."""
    image, crop = np.load(folder / "Indian_pines_corrected.npy"), np.load(folder / "Indian_pines_gt.npy")
    known = np.flatnonzero(crop.ravel())
    chosen = np.sort(np.random.default_rng(draw).choice(known, N_PIXELS, replace=False))
    X = standardised(image.reshape(-1, image.shape[2])[chosen].astype(float))
    return shuffled(
        draw, "Indian Pines", X, ("pixel", "band"), "band", crop.ravel()[chosen], ordered=("band",)
    )


def news(folder, draw):
    """Reports by words, square roots of the shares of the words; the label is the country in the title."""
    lines = (folder / "reuters.ldac").read_text().splitlines()
    counts = np.zeros((len(lines), len((folder / "reuters.tokens").read_text().splitlines())))
    for report, line in enumerate(lines):
        for pair in line.split()[1:]:
            word, count = pair.split(":")
            counts[report, int(word)] = int(count)
    titles = (folder / "reuters.titles").read_text().splitlines()
    countries = np.array([title.split(" ", 1)[1].split(":")[0] for title in titles])
    often = np.isin(countries, [c for c in set(countries) if (countries == c).sum() >= FEWEST_OF_COUNTRY])
    counts = counts[often]
    counts = counts[:, (counts > 0).sum(axis=0) >= FEWEST_REPORTS]
    X = np.sqrt(counts / counts.sum(axis=1, keepdims=True))
    return shuffled(draw, "Reuters", X, ("report", "word"), "word", countries[often])


def fluorescence(folder, draw):
    """64 mixtures by emission by excitation by time, missing entries 0; no labels."""
    X = np.load(folder / "Kinetic.npy")
    axes = ("mixture", "emission", "excitation", "time")
    return shuffled(draw, "kinetic", X, axes, "time", None, ordered=axes[1:])


def image(folder, draw):
    """The whole image, 145 by 145 pixels by 200 bands, each standardised; rows and columns have no labels."""
    X = np.load(folder / "Indian_pines_corrected.npy").astype(float)
    flat = standardised(X.reshape(-1, X.shape[2]))
    axes = ("row", "column", "band")
    return shuffled(
        draw, "Indian Pines cube", flat.reshape(X.shape).astype(np.float32), axes, "band", None, ordered=axes
    )


SETS = {
    "bfi": personality,
    "nci60": cancer_cells,
    "pbmc68k": blood_cells,
    "covid19": serology,
    "crops": crops,
    "reuters": news,
    "kinetic": fluorescence,
    "image": image,
}
