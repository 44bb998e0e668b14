"""Picture of docs/evidence/pruning.md: damage by a few scores on every network measured.

python benchmarks/pruning_figure.py docs/results/pruning docs/images/pruning.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from pruning_page import loaded_cases

from haarbor.plots import save_figure
from haarbor.plots.style._house_style import LINE_COLOURS, PAGE_WIDTH, PALE_INK, blank_figure, in_house_style

DRAWN = {
    "leftover-response": (LINE_COLOURS[0], "-", "o"),
    "leftover": (LINE_COLOURS[2], "-", "D"),
    "gradient": (LINE_COLOURS[1], "-", "s"),
    "h400": (LINE_COLOURS[3], "--", "^"),
    "random": (PALE_INK, ":", "v"),
}
NAMES = {
    "antiberty": "AntiBERTy 8 x 8",
    "gemma3": "Gemma 3 18 x 4",
    "minilm": "MiniLM 6 x 12",
    "rxnfp": "rxnfp 12 x 4",
    "rxnmapper": "RXNMapper 12 x 8",
    "smollm2": "SmolLM2 30 x 9",
    "transformer-xl": "Transformer-XL 6 x 8",
    "transformer-xl-16x8": "Transformer-XL 16 x 8",
    "vision-transformer": "ViT 6 x 6",
    "vision-transformer-12x12": "ViT-B 12 x 12",
}


@in_house_style
def pruning_figure(folder: Path) -> Figure:
    """One panel a network."""
    cases = loaded_cases(folder)
    n_rows = -(-len(cases) // 3)
    figure = blank_figure(PAGE_WIDTH, 2.05 * n_rows)
    grid = figure.subplots(n_rows, 3, squeeze=False)
    for axes, case in zip(grid.flat, cases, strict=False):
        shares = np.array(case["shares"])
        scores = case["replacements"]["refit"]["scores"]
        for place, (score, (colour, line, marker)) in enumerate(DRAWN.items()):
            if score not in scores:
                continue
            damage = np.array(scores[score]["values"]) - case["baseline"]
            axes.errorbar(
                shares + 0.003 * (place - 2),
                damage,
                yerr=scores[score]["standard_errors"],
                color=colour,
                linestyle=line,
                marker=marker,
                markersize=2.8,
                elinewidth=0.7,
                label=score,
            )
        # Chance and entropy ruin some networks; what happens among the others is to be seen.
        wanted = [np.array(scores[score]["values"]) - case["baseline"] for score in list(DRAWN)[:3]]
        axes.set_ylim(min(0.0, np.min(wanted)) - 0.15 * np.max(wanted), 2.2 * np.max(wanted))
        axes.axhline(0.0, color=PALE_INK, linewidth=0.6)
        axes.set_title(f"{NAMES.get(case['name'], case['name'])} ({case['role']})", fontsize=6.8)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{100 * value:.0f} %"))
        axes.set_xticks(shares)
        axes.grid(axis="y")
    for axes in grid[:, 0]:
        axes.set_ylabel("damage")
    drawn, empty = grid.flat[: len(cases)], grid.flat[len(cases) :]
    for axes in drawn[-3:]:
        axes.set_xlabel("heads removed")
    for axes in empty:
        axes.set_axis_off()
    # The legend takes an empty place where there is one.
    handles, labels = drawn[0].get_legend_handles_labels()
    (empty[-1] if len(empty) else drawn[0]).legend(
        handles, labels, loc="upper left", fontsize=7, handlelength=3
    )
    return figure


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python benchmarks/pruning_figure.py FOLDER PICTURE")
    save_figure(pruning_figure(Path(sys.argv[1])), Path(sys.argv[2]))
