"""What a disturbed command left is compared byte by byte, and its attention to rounding."""

import shutil

import numpy as np
import pytest
from faults.stored_sample import STREAM, sample_plan

from faults import undisturbed
from haarbor.store import create_run


def written_run(place, change=1.0, n_batches=2):
    """A run of fixed attention, its first batch times `change`."""
    with create_run(place, sample_plan(2)) as writer:
        for index in range(n_batches):
            rng = np.random.default_rng(index)
            with writer.batch(index) as batch:
                batch.write_mask(None, np.ones((3, 4), bool))
                batch.write_labels(None, list("abc"), list("defg"))
                batch.write_picture(np.zeros((3, 4, 3), np.uint8))
                for layer in range(STREAM.n_layers):
                    logits = rng.normal(size=STREAM.layer_shape)
                    shares = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
                    if index == 0:
                        logits = logits * change
                    batch.write_layer(None, layer, {"probabilities": shares, "logits": logits})


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder beside one with the output of the undisturbed command."""
    straight, here = tmp_path / "straight", tmp_path / "here"
    for folder in (straight, here):
        folder.mkdir()
    written_run(straight / "run.zarr")
    monkeypatch.setattr(undisturbed, "template", lambda name: straight)
    return here


def test_the_same_bytes_are_the_same(here):
    written_run(here / "run.zarr")
    assert undisturbed.same_as_undisturbed("capture", here) is None


def test_attention_may_differ_by_rounding_and_no_more(here):
    written_run(here / "run.zarr", change=1 + 3e-7)
    assert undisturbed.same_as_undisturbed("capture", here) is None
    shutil.rmtree(here / "run.zarr")
    written_run(here / "run.zarr", change=1 + 1e-4)
    assert undisturbed.same_as_undisturbed("capture", here) == (
        "the logits of batch 0 are not those of an undisturbed command"
    )


def test_a_missing_batch_is_noticed(here):
    written_run(here / "run.zarr", n_batches=1)
    assert "batches" in undisturbed.same_as_undisturbed("capture", here)


def test_another_file_is_noticed_beside_rounded_attention(here):
    written_run(here / "run.zarr", change=1 + 3e-7)
    (here / "run.zarr" / "decoder" / "left-over").write_text("")
    assert undisturbed.same_as_undisturbed("capture", here) == (
        "1 files are not those of an undisturbed command: decoder/left-over is there"
    )


def test_results_are_those_of_the_same_attention(here, monkeypatch):
    written_run(here / "run.zarr", change=1 + 3e-7)
    result = here / "run.zarr" / "results" / "organization"
    result.write_text("of the rounded attention")
    asked = []

    def undisturbed_command(words, place, before):
        asked.append(sorted(path.name for path in (place / "run.zarr" / "results").iterdir()))
        (place / "run.zarr" / "results" / "organization").write_text("of the rounded attention")
        return undisturbed_command

    undisturbed_command.code = 0
    monkeypatch.setattr(undisturbed, "ended_command", undisturbed_command)
    assert undisturbed.same_as_undisturbed("organize", here) is None
    assert asked == [["zarr.json"]]
    shutil.rmtree(here.with_name("undisturbed-organize"))
    result.write_text("of something else")
    assert undisturbed.same_as_undisturbed("organize", here) == (
        "1 files are not those of an undisturbed command: results/organization differs"
    )
