"""The haarbor command in its first moment."""

from tests.cli.builders import finished


def test_the_command_is_ready_for_an_interrupt_before_anything_slow_is_loaded():
    code = (
        "import sys, haarbor.cli\n"
        "print([name for name in ('numpy', 'typer', 'rich', 'asyncio') if name in sys.modules])"
    )
    assert finished(code=("-c", code)) == (0, "[]\n", "")
