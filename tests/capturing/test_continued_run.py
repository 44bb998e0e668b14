"""A capture that goes on: what it makes again, and what it says where it may not go on."""

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import haarbor.capturing.inputs._text as text_module  # noqa: E402
from haarbor.capturing import capture  # noqa: E402
from haarbor.capturing._continued_run import begun_run, continued_plan  # noqa: E402
from haarbor.capturing.inputs import (  # noqa: E402
    image_samples,
    memory_window_samples,
    model_inputs,
    text_samples,
    token_id_samples,
)
from haarbor.errors import CaptureError, StoreError  # noqa: E402
from haarbor.store import RunPlan, StreamPlan  # noqa: E402
from tests.capturing.inputs.builders import memory_network, windows  # noqa: E402
from tests.capturing.inputs.small_models import word_tokenizer  # noqa: E402
from tests.capturing.small_models import SMALL_MODELS, gpt2, token_rows  # noqa: E402


def stop_after(n_batches):
    def stop(_step, done, _total):
        if done == n_batches:
            raise KeyboardInterrupt

    return stop


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def interrupted(model, samples, place, n_batches):
    with pytest.raises(KeyboardInterrupt):
        capture(model, samples, place, on_progress=stop_after(n_batches))


def counted(samples, monkeypatch):
    """Numbers of the samples that are made from now on."""
    made = []
    original = type(samples).sample
    monkeypatch.setattr(
        type(samples), "sample", lambda self, index: made.append(index) or original(self, index)
    )
    return made


def counted_forwards(model):
    seen = []
    model.register_forward_hook(lambda *_told: seen.append(1))
    return seen


@pytest.fixture
def story(tmp_path):
    path = tmp_path / "story.txt"
    path.write_text("the cat sat on the mat the dog ran far\n" * 4, encoding="utf-8")
    return path


def words(path, model):
    return text_samples(path, word_tokenizer(), n_tokens=5, takes=model_inputs(model), n_samples=6)


def rows(_path, model):
    return token_rows(model)


@pytest.mark.parametrize("kind", [words, rows])
def test_samples_of_complete_batches_are_neither_made_nor_read_again(kind, story, tmp_path, monkeypatch):
    model = gpt2()
    interrupted(model, kind(story, model), tmp_path / "run", 4)
    again = kind(story, model)
    made, forwards = counted(again, monkeypatch), counted_forwards(model)
    assert capture(model, again, tmp_path / "run").n_batches == 6
    assert made == [4, 5]
    # One more than samples: the first is run once before anything is written.
    assert len(forwards) == 3


def test_images_of_complete_batches_are_not_opened_again(tmp_path, monkeypatch):
    image_module = pytest.importorskip("PIL.Image")
    model = SMALL_MODELS["vit"].build("eager")
    (tmp_path / "images").mkdir()
    for number in range(4):
        pixels = np.full((16, 16, 3), 40 * number, dtype=np.uint8)
        image_module.fromarray(pixels).save(tmp_path / "images" / f"{number}.png")

    def samples():
        return image_samples(tmp_path / "images", settings=model_inputs(model))

    interrupted(model, samples(), tmp_path / "run", 3)
    opened = []
    original = image_module.open
    monkeypatch.setattr(
        image_module, "open", lambda path, *rest: opened.append(path.name) or original(path, *rest)
    )
    run = capture(model, samples(), tmp_path / "run")
    assert run.n_batches == 4
    assert opened == ["3.png"]


def test_a_text_is_tokenised_once_when_a_capture_goes_on(story, tmp_path, monkeypatch):
    model = gpt2()
    interrupted(model, words(story, model), tmp_path / "run", 4)
    read = []
    original = text_module._ids
    monkeypatch.setattr(
        text_module,
        "_ids",
        lambda tokenizer, text, **options: read.append(text) or original(tokenizer, text, **options),
    )
    capture(model, words(story, model), tmp_path / "run")
    assert [text for text in read if "the cat" in text] == [story.read_text()]


def test_with_memory_every_window_is_made_and_read_by_the_network_once(tmp_path, monkeypatch):
    model, parts = memory_network(memory_length=6), windows(9, 4)
    made, forwards = counted(parts, monkeypatch), counted_forwards(model)
    run = capture(model, memory_window_samples(parts, model), tmp_path / "run")
    assert run.n_batches == 7
    assert sorted(made) == list(range(9))
    # Each window once, and the first that is recorded once more before anything is written.
    assert len(forwards) == 9 + 1


def test_with_memory_a_capture_goes_on_from_the_windows_that_reach_the_next_batch(tmp_path, monkeypatch):
    model, parts = memory_network(memory_length=6), windows(16, 4)
    capture(model, memory_window_samples(parts, model), tmp_path / "whole")
    interrupted(model, memory_window_samples(parts, model), tmp_path / "run", 10)
    made, forwards = counted(parts, monkeypatch), counted_forwards(model)
    capture(model, memory_window_samples(parts, model), tmp_path / "run")
    # Two windows fill the memory, and each of two layers looks back as far: batch 10 is window 12.
    assert sorted(set(made)) == [0, *range(8, 16)]
    assert len(made) == len(set(made))
    assert len(forwards) == 4 + 1 + 4
    assert files(tmp_path / "run") == files(tmp_path / "whole")


def test_a_complete_run_is_looked_at_with_one_sample_and_left_as_it_is(tmp_path, monkeypatch):
    model = gpt2()
    capture(model, token_rows(model), tmp_path / "run")
    before, again = files(tmp_path / "run"), token_rows(model)
    made = counted(again, monkeypatch)
    assert capture(model, again, tmp_path / "run").n_batches == 6
    assert made == [0]
    assert files(tmp_path / "run") == before


def test_a_capture_does_not_go_on_with_another_text(story, tmp_path):
    model = gpt2()
    interrupted(model, words(story, model), tmp_path / "run", 4)
    text = story.read_text()
    # Beyond the windows that are asked for, the text may change.
    story.write_text(text + "the dog\n")
    assert begun_run(tmp_path / "run").plan.settings["data_content"] == words(story, model).content_digest
    story.write_text(text.replace("cat", "dog", 1))
    with pytest.raises(StoreError, match=r"data whose content is sha256:\w{12}, and this is with data whose"):
        capture(model, words(story, model), tmp_path / "run")


def test_every_kind_of_samples_knows_its_content(story, tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    model, seeing = gpt2(), SMALL_MODELS["vit"].build("eager")
    pixels = np.zeros((2, 16, 16, 3), dtype=np.uint8)
    found = []
    for value in (0, 1):
        pixels[1, 3, 3, 0] = value
        folder = tmp_path / f"images {value}"
        folder.mkdir()
        for number in range(2):
            image_module.fromarray(pixels[number]).save(folder / f"{number}.png")
        settings = model_inputs(seeing)
        story.write_text(("the cat sat on the mat" if value else "the dog sat on the mat") + "\nthe cat\n")
        lines = text_samples(
            story, word_tokenizer(pad_token="[PAD]"), n_tokens=4, takes=model_inputs(model), split="lines"
        )
        ids = np.full((2, 5), 7)
        ids[1, 4] += value
        rows_of = token_id_samples(ids, takes=model_inputs(model))
        kinds = (
            image_samples(pixels, settings=settings),
            image_samples(folder, settings=settings),
            lines,
            rows_of,
        )
        found.append([samples.content_digest for samples in (*kinds, *(kind[1:] for kind in kinds[:2]))])
    assert all(digest.startswith("sha256:") for digests in found for digest in digests)
    assert not set(found[0]) & set(found[1])
    assert rows_of[:1].content_digest != rows_of.content_digest


def test_a_loader_goes_on_where_it_stopped(tmp_path):
    model = gpt2()
    ids = torch.from_numpy(np.random.default_rng(0).integers(3, 97, (5, 6)))
    whole = capture(model, DataLoader(TensorDataset(ids), batch_size=2), tmp_path / "whole")
    interrupted(model, DataLoader(TensorDataset(ids), batch_size=2), tmp_path / "run", 3)
    capture(model, DataLoader(TensorDataset(ids), batch_size=2), tmp_path / "run")
    assert whole.n_batches == 5
    assert files(tmp_path / "run") == files(tmp_path / "whole")


def test_a_loader_that_shuffles_does_not_go_on(tmp_path):
    model = gpt2()
    ids = torch.from_numpy(np.random.default_rng(0).integers(3, 97, (4, 6)))
    loader = DataLoader(TensorDataset(ids), shuffle=True)
    interrupted(model, loader, tmp_path / "run", 2)
    with pytest.raises(CaptureError, match=r"this DataLoader shuffles them. Make it with shuffle=False"):
        capture(model, loader, tmp_path / "run")


def test_hooks_are_gone_when_a_forward_is_interrupted(tmp_path):
    small = SMALL_MODELS["gpt2"]
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(32, 4, 32, batch_first=True)
    plain = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    for model, batch, inner in (
        (small.build("sdpa"), small.batch(), lambda model: model.transformer.h[1]),
        (plain, torch.randn(1, 4, 32), lambda model: model.layers[1]),
    ):
        calls = []

        def stop(*_told, calls=calls):
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt

        handle = inner(model).register_forward_pre_hook(stop)
        place = tmp_path / type(model).__name__
        with pytest.raises(KeyboardInterrupt):
            capture(model, [batch, batch], place)
        handle.remove()
        assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
        assert begun_run(place).batches == (0,)
    assert small.build("sdpa").config._attn_implementation == "sdpa"


PLAN = RunPlan(
    model="tiny",
    streams=(StreamPlan(name="self", n_layers=2, n_heads=4, n_queries=8, n_keys=8),),
    n_batches=3,
    config_digest="sha256:" + "a" * 64,
    settings={
        "mode": "faithful",
        "data": "book.txt",
        "seed": 0,
        "weights": "sha256:1",
        "command": "haarbor x",
    },
    library_versions={"torch": "2.0"},
)


def with_stream(**changes):
    return dataclasses.replace(PLAN, streams=(dataclasses.replace(PLAN.streams[0], **changes),))


def with_field(**changes):
    return dataclasses.replace(PLAN, **changes)


def with_setting(**changes):
    return dataclasses.replace(PLAN, settings={**PLAN.settings, **changes})


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (with_field(model="large"), "the model tiny, and this is with the model large"),
        (with_field(config_digest="sha256:b"), "the configuration sha256:aaaaaaaaaaaa, and this is"),
        (with_stream(n_layers=3), "attention of 2 layers x 4 heads, and this is with attention of 3 layers"),
        (with_stream(n_queries=9, n_keys=9), "8 tokens per batch, and this is with 9 tokens per batch"),
        (with_stream(n_keys=16), "8 keys per batch, and this is with 16 keys per batch"),
        (with_field(n_batches=4), "3 batches, and this is with 4 batches"),
        (with_field(n_batches=None), "3 batches, and this is with an unknown number of batches"),
        (with_field(dtype="float16"), "dtype='float32', and this is with dtype='float16'"),
        (with_field(contents=("logits",)), r"content=\('probabilities',\), and this is with content"),
        (with_setting(mode="transparent"), "mode 'faithful', and this is with mode 'transparent'"),
        (with_setting(data="o.txt"), "data that are 'book.txt', and this is with data that are 'o.txt'"),
        (with_setting(**{"a{b": 1}), r"a\{b None, and this is with a\{b 1"),
        (with_field(library_versions={"torch": "2.1"}), "torch '2.0', and this is with torch '2.1'"),
    ],
)  # fmt: skip
def test_what_differs_is_named_as_the_user_calls_it(other, message):
    with pytest.raises(StoreError, match=f"was begun with {message}") as found:
        continued_plan(PLAN, other, "run.zarr")
    said = str(found.value)
    assert said.startswith("a run is continued as it was begun; run.zarr was begun with ")
    assert said.endswith("Use the same, or choose another location.")
    assert "streams" not in said
    assert "\n" not in said


def test_other_weights_are_said_to_differ():
    with pytest.raises(StoreError) as found:
        continued_plan(PLAN, with_setting(weights="sha256:2"), "run.zarr")
    assert str(found.value) == (
        "a run is continued with the weights it was begun with; the weights of tiny differ: sha256:1 in "
        "run.zarr, sha256:2 here. Use the same checkpoint, or choose another location."
    )


def test_the_command_of_a_run_stays_the_one_it_was_begun_with():
    found = continued_plan(PLAN, with_setting(command="haarbor y"), "run.zarr")
    assert found == PLAN


def test_a_run_that_was_moved_goes_on(tmp_path):
    model = gpt2()
    with pytest.raises(KeyboardInterrupt):
        capture(
            model,
            token_rows(model),
            tmp_path / "one",
            on_progress=stop_after(2),
            settings={"command": "--out one"},
        )
    (tmp_path / "one").rename(tmp_path / "two")
    run = capture(model, token_rows(model), tmp_path / "two", settings={"command": "--out two"})
    assert run.n_batches == 6
    assert run.plan.settings["command"] == "--out one"


@pytest.mark.parametrize("location", [None, 5, "", "  ", "a\0b", b"run", "x" * 5000])
def test_what_is_no_location_is_one_line(location, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        StoreError, match=r"a run must be given by (its path; found|a path that can be looked at)"
    ) as found:
        capture(gpt2(), [SMALL_MODELS["gpt2"].batch()], location)
    assert "\n" not in str(found.value)


def test_places_that_cannot_be_used_are_refused_before_the_model_runs(tmp_path):
    model = gpt2()
    forwards = counted_forwards(model)
    (tmp_path / "file").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("x")
    for place in (tmp_path / "file", tmp_path / "other", tmp_path / ("x" * 5000), tmp_path / "file" / "run"):
        with pytest.raises(StoreError) as found:
            capture(model, [SMALL_MODELS["gpt2"].batch()], place)
        assert "\n" not in str(found.value)
    assert not forwards


@pytest.mark.parametrize(
    "left", [("zarr.json.partial",), ("run.lock",), ("zarr.json.partial", "run.lock", ".DS_Store")]
)
def test_what_a_writer_left_that_was_stopped_at_once_is_not_yet_a_run(tmp_path, left):
    for name in left:
        (tmp_path / name).touch()
    assert begun_run(tmp_path) is None
