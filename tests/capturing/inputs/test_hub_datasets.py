import sys
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from haarbor.capturing.inputs import ImageSettings, dataset_samples
from haarbor.errors import CaptureError, SettingError
from tests.capturing.inputs.builders import TAKES
from tests.capturing.inputs.small_models import word_tokenizer

SETTINGS = ImageSettings(
    input_name="pixel_values",
    size=(8, 8),
    patch_size=(4, 4),
    resize_to=(8, 8),
    mean=(0.5, 0.5, 0.5),
    std=(0.5, 0.5, 0.5),
    source="by hand",
)


@pytest.fixture
def hub(monkeypatch):
    """Stands for the datasets package: rows to give, and how it was called."""
    state = SimpleNamespace(rows=[], calls=[], given=0)

    def load_dataset(*args, **options):
        state.calls.append((args, options))
        if isinstance(state.rows, Exception):
            raise state.rows

        def stream():
            for row in state.rows:
                state.given += 1
                yield row

        return stream()

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return state


def texts(**options):
    return dataset_samples(
        "someone/tales", takes=TAKES, tokenizer=word_tokenizer(pad_token="[PAD]"), **options
    )


def test_texts_are_streamed_and_joined(hub):
    hub.rows = [{"text": "the cat"}, {"text": "sat on"}, {"text": "the mat"}]
    samples = texts(n_samples=2, n_tokens=3, configuration="small", part="test")
    assert [sample.inputs["input_ids"][0].tolist() for sample in samples] == [[4, 5, 6], [7, 4, 8]]
    assert hub.calls == [(("someone/tales", "small"), {"split": "test", "streaming": True})]
    assert samples.description.startswith("someone/tales, small, test, ")


def test_no_more_rows_are_read_than_documents_asked_for(hub):
    hub.rows = [{"text": "the cat"}] * 50
    samples = texts(n_samples=2, n_tokens=3, split="lines")
    assert samples[1].valid.tolist() == [True, True, False]
    assert hub.given == 2


def test_images_are_taken_for_a_model_of_images(hub):
    hub.rows = [{"img": Image.fromarray(np.zeros((9, 9, 3), dtype=np.uint8)), "label": 1}] * 3
    samples = dataset_samples("cifar10", takes=SETTINGS, n_samples=2)
    assert len(samples) == 2
    assert samples[1].inputs["pixel_values"].shape == (1, 3, 8, 8)


def test_another_column_can_be_named(hub):
    hub.rows = [{"story": "the cat", "text": "far far"}]
    assert texts(n_samples=1, n_tokens=2, column="story")[0].labels == ("the", "cat")


def test_data_sets_without_such_a_column_or_rows_are_refused(hub):
    hub.rows = [{"question": "the cat", "id": 3}]
    with pytest.raises(
        CaptureError, match=r"column text or content or .*; it has question, id. Name the column"
    ):
        texts(n_samples=1, n_tokens=2)
    with pytest.raises(CaptureError, match="the column must hold texts; found int"):
        texts(n_samples=1, n_tokens=2, column="id")
    hub.rows = []
    with pytest.raises(CaptureError, match="someone/tales must hold rows; it is empty"):
        texts(n_samples=1, n_tokens=2)


def test_too_few_images_are_refused(hub):
    hub.rows = [{"image": Image.new("RGB", (8, 8))}]
    with pytest.raises(CaptureError, match="3 batches were asked for; cifar10, train holds 1 images"):
        dataset_samples("cifar10", takes=SETTINGS, n_samples=3)


def test_what_the_hub_says_is_told_in_one_line(hub):
    hub.rows = ConnectionError("Couldn't reach the Hub.\nMore lines")
    with pytest.raises(
        CaptureError, match=r"could not be read: Couldn't reach the Hub. Check its name"
    ) as found:
        texts(n_samples=1, n_tokens=2)
    assert "\n" not in str(found.value)


def test_a_missing_package_is_told_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CaptureError, match="needs the datasets package, which is not installed: pip install"):
        texts(n_samples=1, n_tokens=2)


def test_settings_that_do_not_fit_are_refused(hub):
    with pytest.raises(SettingError, match="at least 1; found 0"):
        texts(n_samples=0, n_tokens=2)
    hub.rows = [{"text": "the cat"}]
    with pytest.raises(CaptureError, match="text needs a tokenizer and a number of tokens"):
        texts(n_samples=1)
