"""What holds for the commands as a whole: version, help, completion and wrong usage."""

import os
import re
import shlex
import subprocess
import sys

import pytest
import typer

import haarbor as hb
from haarbor.cli._app import app

COMMANDS = typer.main.get_command(app).commands


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")


def test_version_is_that_of_the_package(command):
    done = command("--version")
    assert done.out.strip() == f"haarbor {hb.__version__}"


def test_wrong_usage_is_exit_code_2(command):
    assert command("demo", "--tokens", "many").code == 2
    assert command("organise").code == 2


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)], ids=lambda words: "".join(words))
def test_help_has_a_short_form_and_fits_80_columns(command, words):
    short, long = command(*words, "-h"), command(*words, "--help")
    assert short.code == long.code == 0
    assert short.out == long.out
    assert max(map(len, long.out.splitlines())) <= 80
    assert long.out.startswith("Usage: haarbor ")


def test_every_command_is_summarised_in_a_whole_line(command):
    listed = command("-h").out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed if line.strip()] == list(COMMANDS)
    assert all(line.endswith(".") and not line.endswith("...") for line in listed if line.strip())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_every_command_can_be_typed(command, name):
    (example,) = re.findall(r"^  Example: (haarbor .*)$", command(name, "-h").out, flags=re.MULTILINE)
    words = shlex.split(example)
    assert words[:2] == ["haarbor", name]
    # Options and arguments are parsed as when the command runs; a wrong one would end in an error.
    COMMANDS[name].make_context(name, words[2:])


@pytest.mark.parametrize("name", COMMANDS)
def test_placeholders_are_spelt_one_way(command, name):
    shown = command(name, "-h").out
    arguments = {"demo": [], "look": ["MODEL"], "capture": ["MODEL"], "prune": ["MODEL"],
                 "analyze": ["MODEL"], "collapse": ["MODEL"], "diagnose": ["MODEL"], "compare": ["RUN..."],
                 "report": ["RUN..."],
                 "figures": ["RUN..."]}.get(name, ["RUN"])  # fmt: skip
    usage = shown.splitlines()[0].split()
    assert usage == ["Usage:", "haarbor", name, "[OPTIONS]", *arguments]
    options = shown.partition("Options:\n")[2]
    assert "<" not in re.sub(r"\d<=|<=", "", options)
    assert set(re.findall(r"--(?:data|target|eval-data) (\S+)", options)) <= {"DATA"}
    if name != "info":
        assert re.search(r"^  -o, --out PATH ", options, flags=re.MULTILINE)


@pytest.mark.slow
def test_the_shell_completes_commands_and_options():
    def completed(words):
        environment = {
            **os.environ, "_HAARBOR_COMPLETE": "complete_bash", "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "haarbor"], env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout.split()

    assert completed("haarbor or") == ["organize"]
    assert completed("haarbor capture --ta") == ["--target"]
