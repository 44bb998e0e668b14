import os
import signal

import pytest
from faults.haarbor_command import Command, ended_command

pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands are forked")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_command_that_was_ended_before_it_could_speak_said_nothing(tmp_path):
    assert "haarbor" in ended_command(["--version"], tmp_path).out
    silent = ended_command(["--version"], tmp_path / "nowhere")
    assert (silent.code, silent.out, silent.err) == (1, "", "")


def test_a_command_that_is_interrupted_as_soon_as_it_is_there_is_judged(tmp_path):
    for _ in range(10):
        running = Command(["--version"], tmp_path)
        running.send(signal.SIGINT)
        ended = running.ended()
        assert ended.code in (0, 130)
        assert "Traceback" not in ended.err
