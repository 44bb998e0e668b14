"""A block in which no request goes to the Hugging Face hub."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["offline_hub"]

_lock = threading.Lock()
# How many blocks run at this moment, and how the switch was set before the first of them.
_state: dict[str, Any] = {"blocks": 0, "before": False}


@contextmanager
def offline_hub() -> Iterator[None]:
    """Refuse every request to the hub while the block runs.

    A configuration may name other models, backbones or kernels, which transformers would download.
    When a folder is read, only what is in the folder may be used.

    Examples
    --------
    >>> import huggingface_hub
    >>> with offline_hub():
    ...     huggingface_hub.is_offline_mode()
    True
    """
    from huggingface_hub import constants

    with _lock:
        if _state["blocks"] == 0:
            _state["before"] = constants.HF_HUB_OFFLINE
            constants.HF_HUB_OFFLINE = True
        _state["blocks"] += 1
    try:
        yield
    finally:
        with _lock:
            _state["blocks"] -= 1
            if _state["blocks"] == 0:
                constants.HF_HUB_OFFLINE = _state["before"]
