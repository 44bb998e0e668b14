"""Messages in the words of the command line."""

import pytest

from haarbor.cli._option_words import option_words


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("stream must be one of a, b; found 'c'.", "--stream must be one of a, b; found 'c'."),
        ("heads_per_layer must divide", "--heads-per-layer must divide"),
        (
            "some attention must be left to record; leave_out names all layers of Bert. Name fewer.",
            "some attention must be left to record; --leave-out names all layers of Bert. Name fewer.",
        ),
        (
            "layer x cannot be: y. To record the heads of each group, pass groups='heads' (--groups heads); "
            "to capture the rest, pass leave_out=['*.a', 'b'] (--leave-out '*.a' --leave-out 'b').",
            "layer x cannot be: y. To record the heads of each group, give --groups heads; to "
            "capture the rest, give --leave-out '*.a' --leave-out 'b'.",
        ),
        (
            "z. Give weights that you computed to haarbor.import_arrays(weights, location, axes=('head', "
            "'query', 'key')).",
            "z. Give weights that you computed and saved as .npy to haarbor organize.",
        ),
        (
            "500 tokens were asked for; the model has positions for 64.",
            "--tokens 500 was asked for; the model has positions for 64.",
        ),
        ("Capture with mode='faithful'.", "Capture with --mode faithful."),
        (
            "pool must go without logits; x. Capture probabilities, or pool=1.",
            "--pool must go without logits; x. Capture probabilities, or --pool 1.",
        ),
        (
            "memory must hold one block; found 1 MB. Pass memory='2GB' or more.",
            "--memory must hold one block; found 1 MB. Give --memory 2GB or more.",
        ),
        ("a batch must be complete", "a batch must be complete"),
        ("the seed must be", "the seed must be"),
        ("upstream must flow", "upstream must flow"),
    ],
)  # fmt: skip
def test_by_hand(message, told):
    assert option_words(message) == told
