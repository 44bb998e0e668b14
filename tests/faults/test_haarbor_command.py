import os
import signal

import pytest
from faults.haarbor_command import Command, ended_command

from haarbor.cli._interruption import Interruption

pytestmark = pytest.mark.skipif(os.name != "posix", reason="commands are forked")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_command_that_was_ended_before_it_could_speak_said_nothing(tmp_path):
    assert "haarbor" in ended_command(["--version"], tmp_path).out
    silent = ended_command(["--version"], tmp_path / "nowhere")
    assert (silent.code, silent.out, silent.err) == (1, "", "")


@pytest.fixture
def an_earlier_command_in_this_process():
    """It leaves its handler of interrupts behind."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Interruption().watch()
    yield
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_before_the_command_is_not_answered_by_an_earlier_one(
    tmp_path, an_earlier_command_in_this_process
):
    def interrupted():
        os.kill(os.getpid(), signal.SIGINT)

    ended = ended_command(["--version"], tmp_path, interrupted)
    assert ended.code == 130
    assert ended.err == ""


def test_a_command_hears_an_interrupt_that_its_parent_ignores(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ended = ended_command(["--version"], tmp_path, lambda: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.code == 130


def test_a_command_that_is_interrupted_as_soon_as_it_is_there_is_judged(tmp_path):
    for _ in range(10):
        running = Command(["--version"], tmp_path)
        running.send(signal.SIGINT)
        ended = running.ended()
        assert ended.code in (0, 130)
        assert "Traceback" not in ended.err
