"""Files and values from anywhere: damaged, hostile or of another kind, each is one line."""

import numpy as np
import pytest

from haarbor.capturing import load_model
from haarbor.capturing.inputs import (
    dataset_samples,
    image_samples,
    named_samples,
    random_samples,
    text_samples,
    token_id_samples,
)
from haarbor.errors import HaarborError
from haarbor.zoo import embedded_network
from tests.capturing.inputs.builders import SMALL, TAKES, assert_one_line
from tests.capturing.inputs.small_models import word_tokenizer

STRANGE = [
    None,
    5,
    2.5,
    True,
    "",
    b"x",
    "a\0b",
    "x" * 5000,
    [],
    {},
    object(),
    float("nan"),
    -1,
    10**30,
    "\ud800",
]


@pytest.mark.parametrize("value", STRANGE, ids=lambda value: repr(value)[:12])
def test_values_of_the_wrong_kind_are_one_line(value, tmp_path):
    story = tmp_path / "story.txt"
    story.write_text("the cat sat on the mat")
    tokenizer = word_tokenizer()
    images = np.zeros((1, 8, 8, 3), np.uint8)
    ids = np.ones((2, 4), int)
    calls = {
        "model": lambda: load_model(value),
        "model dtype": lambda: value is not None and load_model("zoo:vision-transformer", dtype=value),
        "device": lambda: load_model("zoo:vision-transformer", device=value),
        "text": lambda: text_samples(value, tokenizer, n_tokens=2, takes=TAKES),
        "tokenizer": lambda: text_samples(story, value, n_tokens=2, takes=TAKES),
        "takes": lambda: text_samples(story, tokenizer, n_tokens=2, takes=value),
        "split": lambda: text_samples(story, tokenizer, n_tokens=2, takes=TAKES, split=value),
        "images": lambda: image_samples(value, settings=SMALL),
        "settings": lambda: image_samples(images, settings=value),
        "ids": lambda: token_id_samples(value, takes=TAKES),
        "random": lambda: random_samples(value, n_samples=1, n_tokens=2),
        "random count": lambda: value == 5 or random_samples(TAKES, n_samples=value, n_tokens=2),
        "named": lambda: named_samples(value, takes=TAKES, tokenizer=tokenizer, n_tokens=2, n_samples=1),
        "named takes": lambda: named_samples("random", takes=value),
        "data set": lambda: dataset_samples(value, takes=TAKES, tokenizer=tokenizer, n_tokens=2, n_samples=1),
        "embedded": lambda: embedded_network(value),
        "padding": lambda: value in (None, 5, -1) or token_id_samples(ids, takes=TAKES, pad_id=value),
    }  # fmt: skip
    for name, call in calls.items():
        try:
            assert call() is True or (name == "model dtype" and value is None), f"{name} took {value!r}"
        except HaarborError as error:
            assert_one_line(error)
