"""Models, texts and files that the tests of several modules read."""

import torch

from haarbor.capturing.inputs import ImageSettings, TokenInputs, random_samples
from haarbor.zoo import TransformerXL, TransformerXLConfig

TAKES = TokenInputs(vocab_size=12, max_tokens=8)
SMALL = ImageSettings(
    input_name="pixel_values", size=(8, 8), patch_size=(4, 4), resize_to=(8, 8), mean=(0.5,) * 3,
    std=(0.5,) * 3, source="by hand",
)  # fmt: skip
PLAIN = ImageSettings(
    input_name="pixel_values",
    size=(8, 8),
    patch_size=(4, 4),
    resize_to=(8, 8),
    mean=(0.5, 0.5, 0.5),
    std=(0.5, 0.5, 0.5),
    prefix=("CLS",),
    source="by hand",
)


def assert_one_line(error):
    said = str(error)
    assert "\n" not in said
    assert len(said) < 500


def tensor(samples, index=0):
    return samples[index].inputs["pixel_values"]


def flipped(data, place):
    changed = bytearray(data)
    changed[place] ^= 0xFF
    return bytes(changed)


def memory_network(memory_length):
    torch.manual_seed(0)
    config = TransformerXLConfig(
        vocab_size=50, width=16, n_layers=2, n_heads=2, head_width=8, inner_width=16,
        memory_length=memory_length,
    )  # fmt: skip
    model = TransformerXL(config).eval()
    for name, weight in model.named_parameters():
        if "norm" not in name:
            torch.nn.init.normal_(weight, std=0.3)
    return model


def windows(n, n_tokens):
    """Windows of a text of random tokens for `memory_network`."""
    takes = TokenInputs(vocab_size=50, max_tokens=None)
    return random_samples(takes, n_samples=n, n_tokens=n_tokens, seed=0)
