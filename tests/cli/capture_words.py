"""haarbor capture as it is given, without a process of its own."""

import typer
from typer.testing import CliRunner

from haarbor.cli._capture_command import capture
from haarbor.errors import HaarborError


def given(*words):
    """Exit code, and what is said on stderr line by line, the refusal last."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(capture)
    done = CliRunner().invoke(app, [str(word) for word in words])
    lines = done.stderr.splitlines()
    if isinstance(done.exception, HaarborError):
        return 1, [*lines, f"haarbor: {done.exception}"]
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, lines
