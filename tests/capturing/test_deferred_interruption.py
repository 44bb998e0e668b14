"""Ctrl-C waits for the end of something that should be whole."""

import signal
import sys
from contextlib import contextmanager

import pytest

torch = pytest.importorskip("torch")
from haarbor.capturing import capture  # noqa: E402
from haarbor.capturing._continued_run import begun_run  # noqa: E402
from haarbor.capturing._deferred_interruption import deferred_interruption  # noqa: E402
from haarbor.store import BatchWriter  # noqa: E402
from tests.capturing.small_models import gpt2, token_rows  # noqa: E402


@pytest.fixture
def plain_interrupts():
    """SIGINT as Python has it, whatever was installed in this process before."""
    descriptor, handler = signal.set_wakeup_fd(-1), signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)
    signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)


def test_an_interruption_waits_for_the_end_of_the_block(plain_interrupts):
    reached = []

    def interrupted_in_the_middle():
        with deferred_interruption():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")
        reached.append("after it")

    with pytest.raises(KeyboardInterrupt):
        interrupted_in_the_middle()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_a_batch_is_written_leaves_none_of_it(tmp_path, monkeypatch, plain_interrupts):
    written = []
    original = BatchWriter.write_mask_rows

    def interrupted_there(self, *args):
        original(self, *args)
        written.append(1)
        if len(written) == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(BatchWriter, "write_mask_rows", interrupted_there)
    model = gpt2()
    with pytest.raises(KeyboardInterrupt):
        capture(model, token_rows(model), tmp_path / "run")
    kept = begun_run(tmp_path / "run")
    assert kept.batches == (0, 1)
    assert kept.verify() == ()


def test_ctrl_c_while_a_batch_becomes_complete_waits_for_it(tmp_path, monkeypatch, plain_interrupts):
    ended = []

    @contextmanager
    def interrupted_then():
        with deferred_interruption():
            ended.append(1)
            if len(ended) == 3:
                signal.raise_signal(signal.SIGINT)
            yield

    module = sys.modules["haarbor.capturing._capture"]
    monkeypatch.setattr(module, "deferred_interruption", interrupted_then)
    model = gpt2()
    with pytest.raises(KeyboardInterrupt):
        capture(model, token_rows(model), tmp_path / "run")
    kept = begun_run(tmp_path / "run")
    assert kept.batches == (0, 1, 2)
    assert kept.verify() == ()
