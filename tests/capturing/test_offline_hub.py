"""While a folder is read, nothing is asked of the hub."""

import threading

from haarbor.capturing._offline_hub import offline_hub


def test_the_hub_is_as_it_was_after_two_threads_were_without_it(monkeypatch):
    from huggingface_hub import is_offline_mode

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with offline_hub():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    with offline_hub():
        thread.start()
        assert inside.wait(10)
    # The other one is still reading.
    assert is_offline_mode()
    leave.set()
    thread.join()
    assert not is_offline_mode()
