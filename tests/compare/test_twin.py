"""Two small networks trained alike from different seeds: more alike than chance, less than one and itself."""

import pytest

pytest.importorskip("torch")

import torch
from torch.nn import functional

import haarbor as hb
from haarbor.zoo import TransformerXL, TransformerXLConfig

N_WORDS, N_TOKENS = 12, 24


def texts(n, seed):
    """Words in random order, and then again in the same order: to be seen by looking back."""
    generator = torch.Generator().manual_seed(seed)
    first = torch.randint(N_WORDS, (n, N_TOKENS // 2), generator=generator)
    return torch.cat([first, first], dim=1)


def trained(seed, n_steps):
    torch.manual_seed(seed)
    config = TransformerXLConfig(
        vocab_size=N_WORDS, width=32, n_layers=2, n_heads=4, head_width=8, inner_width=64, memory_length=0,
        dropout=0.0,
    )  # fmt: skip
    model = TransformerXL(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(n_steps):
        ids = texts(16, 1000 + step)
        scores = model(ids).logits[:, :-1]
        loss = functional.cross_entropy(scores.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@pytest.fixture
def one_thread():
    """Threads wait for each other where tensors are so small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_twin_is_more_alike_than_chance_and_less_than_itself(tmp_path):
    runs = {
        name: hb.capture(trained(seed, n_steps), list(texts(6, 0)[:, None]), tmp_path / name, name=name)
        for name, seed, n_steps in (("one", 0, 150), ("twin", 1, 150), ("untrained", 2, 0))
    }
    options = {"n_permutations": 499, "keep": False}
    (itself,) = hb.compare_runs([runs["one"], runs["one"]], **options).pairs
    (twin,) = hb.compare_runs([runs["one"], runs["twin"]], **options).pairs
    (untrained,) = hb.compare_runs([runs["one"], runs["untrained"]], **options).pairs
    assert itself.distance == 0
    assert 0 < twin.relative_distance < untrained.relative_distance
    assert untrained.test.alikeness < twin.test.alikeness < itself.test.alikeness == 1
    assert twin.test.p_value < 0.05
