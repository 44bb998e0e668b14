import pytest

pytest.importorskip("torch")

import torch

from haarbor.collapse import network_threads


def test_threads_are_as_before_even_after_an_error():
    before = torch.get_num_threads()
    with network_threads(1):
        assert torch.get_num_threads() == 1
    with pytest.raises(KeyError), network_threads(0):
        {}[torch.get_num_threads()]
    assert torch.get_num_threads() == before
    with network_threads(before + 5):
        assert torch.get_num_threads() == before
