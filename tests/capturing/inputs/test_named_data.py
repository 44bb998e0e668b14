import sys

import numpy as np
import pytest
from PIL import Image

from haarbor.capturing.inputs import model_inputs, named_samples
from haarbor.errors import CaptureError
from tests.capturing.inputs.small_models import small_model, word_tokenizer


@pytest.fixture
def gpt2():
    return model_inputs(small_model("GPT2LMHeadModel"))


@pytest.fixture
def vit():
    return model_inputs(small_model("ViTModel"))


def test_random_is_noise(gpt2):
    samples = named_samples("random", takes=gpt2, n_tokens=6, n_samples=3, seed=4)
    assert len(samples) == 3
    assert samples.description == "random token ids, seed 4"


def test_a_file_is_read_by_what_it_is(tmp_path, gpt2):
    (tmp_path / "a.txt").write_text("the cat\nsat on\n")
    np.save(tmp_path / "ids.npy", np.ones((2, 9), dtype=int))
    tokenizer = word_tokenizer(pad_token="[PAD]")
    options = {"takes": gpt2, "tokenizer": tokenizer, "n_tokens": 2, "n_samples": 2}
    assert named_samples(str(tmp_path / "a.txt"), **options)[1].labels == ("sat", "on")
    assert len(named_samples(str(tmp_path / "a.txt"), **options, split="lines")) == 2
    assert named_samples(str(tmp_path / "ids.npy"), **options)[1].labels == ("[UNK]", "[UNK]")


def test_a_folder_or_an_array_is_images_for_a_model_of_images(tmp_path, vit):
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    np.save(tmp_path / "images.npy", np.zeros((2, 9, 9, 3), dtype=np.uint8))
    assert len(named_samples(str(tmp_path), takes=vit, n_samples=1)) == 1
    assert len(named_samples(str(tmp_path / "images.npy"), takes=vit, n_samples=2)) == 2


@pytest.mark.parametrize(
    ("data", "called"),
    [
        ("hub:a/b", ("a/b", None, "train")),
        ("hub:a/b:test", ("a/b", None, "test")),
        ("hub:a/b:small:test", ("a/b", "small", "test")),
    ],
)
def test_hub_names_have_up_to_three_parts(monkeypatch, gpt2, data, called):
    seen = []

    class Datasets:
        @staticmethod
        def load_dataset(name, configuration, *, split, streaming):
            seen.append((name, configuration, split))
            return iter([{"text": "the cat sat"}])

    monkeypatch.setitem(sys.modules, "datasets", Datasets)
    named_samples(data, takes=gpt2, tokenizer=word_tokenizer(), n_tokens=3, n_samples=1)
    assert seen == [called]


@pytest.mark.parametrize("data", ["hub:", "hub:a:", "hub:a:b:c:d"])
def test_other_hub_names_are_refused(gpt2, data):
    with pytest.raises(CaptureError, match="must be hub:NAME, hub:NAME:PART or hub:NAME:CONFIGURATION:PART"):
        named_samples(data, takes=gpt2)


def test_data_of_another_kind_than_the_model_takes_is_refused(tmp_path, gpt2, vit):
    (tmp_path / "a.txt").write_text("the cat")
    with pytest.raises(CaptureError, match=r"takes images; a.txt is neither a folder nor a .npy"):
        named_samples(str(tmp_path / "a.txt"), takes=vit)
    with pytest.raises(CaptureError, match=r"takes tokens; .* is a folder"):
        named_samples(str(tmp_path), takes=gpt2)
    with pytest.raises(CaptureError, match=r"a.txt is text, and the model came without a tokenizer"):
        named_samples(str(tmp_path / "a.txt"), takes=gpt2)
    with pytest.raises(CaptureError, match="takes sound, for which only random samples are made"):
        named_samples(str(tmp_path / "a.txt"), takes=model_inputs(small_model("WhisperModel")))


def test_data_that_is_not_there_is_refused(gpt2):
    with pytest.raises(CaptureError, match=r"there is no wikitext. Check the path, or write hub:wikitext"):
        named_samples("wikitext", takes=gpt2)
