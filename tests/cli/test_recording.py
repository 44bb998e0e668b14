"""What capture and look record, with the options of the command line."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import haarbor as hb  # noqa: E402
from haarbor.cli._recording import Recording  # noqa: E402
from haarbor.errors import SettingError  # noqa: E402
from tests.capturing.inputs.small_models import word_tokenizer  # noqa: E402
from tests.capturing.small_models import SMALL_MODELS  # noqa: E402
from tests.cli.builders import capture_words, captured  # noqa: E402


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Folder with small encoder-decoders, a text and another one."""
    folder = tmp_path_factory.mktemp("pair")
    for name in ("t5", "bart"):
        SMALL_MODELS[name].build("eager").save_pretrained(folder / name)
        word_tokenizer(pad_token="[PAD]").save_pretrained(folder / name)
    (folder / "book.txt").write_text("the cat sat on the mat\n" * 8)
    (folder / "letter.txt").write_text("the dog ran far\n" * 12)
    return folder


@pytest.fixture
def record(pair, tmp_path, monkeypatch):
    """Function that captures one of the models into a run of its own."""
    monkeypatch.chdir(pair)

    def recorded(name, *more, out=None):
        return captured(*capture_words(name, *more, out=out or tmp_path / "run", batches=2))

    return recorded


@pytest.mark.parametrize(("name", "heads"), [("t5", 36), ("bart", 28)])
def test_what_the_decoder_reads_is_said_and_kept(record, command, tmp_path, name, heads):
    code, lines = record(name)
    assert code == 0, lines
    reads = "what the encoder reads, one token later"
    assert f"The decoder reads {reads}; --target DATA gives it another text." in lines
    told = command("info", tmp_path / "run").out
    assert f"{heads} in 3 streams" in told
    assert f"reads {reads}" in told
    assert record(name, "--target", "same")[0] == 0


def test_a_target_is_what_the_decoder_reads(record, tmp_path):
    code, lines = record("t5", "--lines", "--target", "letter.txt")
    assert code == 0, lines
    run = hb.open_run(tmp_path / "run")
    assert run.labels(0, "encoder").query == ("the", "cat", "sat", "on", "the", "mat")
    assert run.labels(0, "decoder").query == ("[PAD]", "the", "dog", "ran", "far", "[PAD]")
    assert run.labels(0, "cross").key[1] == "cat"
    assert run.labels(0, "cross").query[2] == "dog"
    assert "--target letter.txt" in run.plan.settings["command"]
    assert run.plan.settings["target"].startswith("letter.txt, one document a line")
    code, lines = record("t5", "--lines")
    assert code == 1
    assert "was begun with a decoder that reads letter.txt, one" in lines[-1]


def test_a_run_from_before_targets_were_told_is_continued(record, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Recording, "_told_target", lambda *_parts: None)
        assert record("t5")[0] == 0
    code, lines = record("t5")
    assert code == 0, lines
    assert "Going on: 2 of 2 batches are complete." in lines


def test_random_targets_are_others_than_the_random_data(tmp_path, pair, monkeypatch):
    monkeypatch.chdir(pair)
    words = capture_words("t5", "--target", "random", data="random", out=tmp_path / "run")
    code, lines = captured(*words)
    assert code == 0, lines
    run = hb.open_run(tmp_path / "run")
    assert run.labels(0, "encoder").query[:-1] != run.labels(0, "decoder").query[1:]
    assert "--seed 0" in run.plan.settings["command"]


def test_a_model_without_a_decoder_refuses_a_target(begun, tmp_path, monkeypatch):
    monkeypatch.chdir(begun)
    code, lines = captured(*capture_words("tiny", "--target", "letter.txt", out=tmp_path / "run"))
    assert code == 1
    assert "tiny has no decoder beside an encoder. Leave it out." in lines[-1]
    assert not (tmp_path / "run").exists()


def test_the_usual_number_of_tokens_is_what_the_model_has_places_for(begun, tmp_path, monkeypatch):
    monkeypatch.chdir(begun)
    Path(tmp_path / "long.txt").write_text("the cat sat on the mat " * 40)
    words = ["tiny", "--data", tmp_path / "long.txt", "-o", tmp_path / "run", "--batches", "1"]
    code, lines = captured(*words)
    assert code == 0, lines
    assert "--tokens 64: the model has places for no more." in lines
    assert hb.open_run(tmp_path / "run").plan.stream().n_queries == 64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": True, "lines": True}, "--lines makes every line a text. Leave one out."),
        ({"memory": True, "generate": 2}, "a prompt without a memory; --memory was given, too"),
        ({"target": "x", "generate": 2}, "the model's own words; --target was given, too. Leave one out."),
    ],
)
def test_options_that_exclude_each_other(options, message, tmp_path):
    recording = Recording(model="m", data="zoo", out=str(tmp_path / "run"), batches=1, **options)
    with pytest.raises(SettingError, match=message):
        recording.require()
