"""The command line of the campaign; see ``python -m faults --help``."""

from __future__ import annotations

from faults.forked_cases import numbers_of_threads_set

numbers_of_threads_set()

import argparse  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

from faults.campaign import KINDS, campaign, chosen_cases  # noqa: E402
from faults.page import written_page  # noqa: E402


def main() -> int:
    """Run the campaign as asked; the exit code is 1 where there was a defect."""
    asked = _options().parse_args()
    form = "long" if asked.long else "short"
    work = chosen_cases(form, asked.kinds or list(KINDS), asked.function, asked.seed or [])
    if not any(cases for _, cases in work):
        names = sorted({case.function for name in asked.kinds or KINDS for case in KINDS[name].cases(form)})
        sys.stderr.write(f"--function must be one of {', '.join(names)}; found {asked.function!r}.\n")
        return 2
    one = sum(len(cases) for _, cases in work) == 1
    table = campaign(work, workers=asked.workers, quiet=not one)
    lines = table.defect_lines(every=asked.every)
    text = table.markdown() if asked.markdown else table.text()
    sys.stdout.write(f"{text}\n\n{_seeds_line(form, asked.seed)}\n")
    for line in lines:
        sys.stdout.write(f"{line}\n")
    if one and table.defects:
        sys.stdout.write(table.defects[0][1].trace)
    for page in asked.page:
        page.write_text(written_page(page.read_text(encoding="utf-8"), table), encoding="utf-8")
    return 1 if table.defects else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m faults", description="Faults against Haarbor, counted.")
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="kinds of fault; all if none is named")
    parser.add_argument("--function", help="strike this function, or thing, alone")
    parser.add_argument("--seed", type=int, action="append", help="try this seed alone")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--short", action="store_true", help="some minutes' worth, the default")
    size.add_argument("--long", action="store_true", help="everything")
    parser.add_argument("--markdown", action="store_true", help="print the table for a page")
    parser.add_argument(
        "--page",
        type=Path,
        action="append",
        default=[],
        help="also put the table, or its totals, into this page",
    )
    parser.add_argument("--every", action="store_true", help="list every defect, also those that read alike")
    parser.add_argument(
        "--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes at a time"
    )
    return parser


def _seeds_line(form: str, seeds: list[int] | None) -> str:
    chosen = "the seeds given" if seeds else f"the fixed seeds of the {form} form, from 0"
    return f"Seeds: {chosen}; one case again: python -m faults KIND --function NAME --seed N."


if __name__ == "__main__":
    # Whoever ends the campaign ends the processes it has started, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    sys.exit(main())
