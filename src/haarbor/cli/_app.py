"""The commands, as typer knows them."""

from __future__ import annotations

import typer

from haarbor.cli._analyze_command import analyze
from haarbor.cli._capture_command import capture
from haarbor.cli._collapse_command import collapse
from haarbor.cli._compare_command import compare
from haarbor.cli._demo_command import demo
from haarbor.cli._diagnose_command import diagnose
from haarbor.cli._figures_command import figures
from haarbor.cli._info_command import info
from haarbor.cli._invariance_command import invariance
from haarbor.cli._look_command import look
from haarbor.cli._once_only import OnceOnly
from haarbor.cli._organize_command import organize
from haarbor.cli._prune_command import prune
from haarbor.cli._report_command import report
from haarbor.version import __version__

__all__ = ["app"]

_HELP = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="haarbor",
    help="Organise, score, draw and prune the attention heads of a transformer by means of trees.\n\n"
    "Begin with haarbor look MODEL, which writes a page about a model, or with haarbor demo, which needs "
    "nothing. haarbor COMMAND -h explains a command and shows an example.",
    no_args_is_help=True,
    context_settings=_HELP,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"haarbor {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Options of haarbor itself."""


for command in (
    demo, look, capture, analyze, organize, report, figures,
    invariance, collapse, diagnose, compare, prune, info,
):  # fmt: skip
    app.command(cls=OnceOnly, context_settings=_HELP)(command)
