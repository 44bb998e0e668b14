import numpy as np
import torch
from faults.answers import difference, kept_bytes


def test_a_share_may_be_the_rounding_of_one_and_nothing_else_may():
    one = {"fine_share": np.array([0.0, 1.9e-16]), "norm": np.array([0.0, 1.0])}
    other = {"fine_share": np.zeros(2), "norm": np.array([0.0, 1.0])}
    assert difference(one, other, tol=1e-6) is not None
    assert difference(one, other, tol=1e-6, rounding={"fine_share": 1e-14}) is None
    far = {**one, "fine_share": np.array([0.0, 1e-12])}
    assert difference(far, other, tol=1e-6, rounding={"fine_share": 1e-14}) is not None
    small = [{"fine_share": 0.0, "norm": size} for size in (1e-16, 0.0)]
    assert "norm" in difference(*small, tol=1e-6, rounding={"fine_share": 1e-14})


def test_a_network_of_torch_is_kept_by_its_weights():
    network = torch.nn.Linear(2, 2)
    before = kept_bytes(network)
    assert kept_bytes(network) == before
    with torch.no_grad():
        network.bias += 1
    assert kept_bytes(network) != before


def test_tensors_that_hold_no_numbers_in_a_row_are_looked_over():
    ids = torch.arange(4)
    assert kept_bytes(ids) == [0, 1, 2, 3]
    assert kept_bytes(ids.to_sparse()) is None
    assert kept_bytes(ids.to("meta")) is None
