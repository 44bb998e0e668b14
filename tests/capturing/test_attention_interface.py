"""Functions that transformers hands out are watched, under their own names, and only while it is asked."""

import threading

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from haarbor.capturing._attention_interface import watched_interface  # noqa: E402
from tests.capturing.small_models import IDS, SMALL_MODELS  # noqa: E402


def watching(seen):
    def watcher(implementation, module, function, args, options):
        seen.append(implementation)
        return function(module, *args, **options)

    return watcher


@pytest.mark.parametrize(("mode", "name"), [("faithful", "eager"), ("transparent", "sdpa")])
def test_models_run_under_a_name_of_transformers(mode, name):
    model, seen = SMALL_MODELS["gpt2"].build("sdpa"), []
    with torch.no_grad(), watched_interface(model, mode, watching(seen)):
        assert model.config._attn_implementation == name
        model(IDS)
    assert seen == [name] * 3
    assert model.config._attn_implementation == "sdpa"


def test_a_model_that_does_not_support_sdpa_stays_eager():
    model, seen = SMALL_MODELS["gpt_oss"].build("eager"), []
    with torch.no_grad(), watched_interface(model, "transparent", watching(seen)):
        model(**SMALL_MODELS["gpt_oss"].batch())
    assert set(seen) == {"eager"}


def test_another_model_is_not_watched():
    watched, other = SMALL_MODELS["gpt2"].build("eager"), SMALL_MODELS["llama"].build("eager")
    seen = []
    with torch.no_grad(), watched_interface(watched, "faithful", watching(seen)):
        other(IDS)
    assert seen == []


def test_two_models_are_watched_at_once_each_by_its_own():
    one, two = SMALL_MODELS["gpt2"].build("eager"), SMALL_MODELS["llama"].build("eager")
    of_one, of_two = [], []
    with torch.no_grad(), watched_interface(one, "faithful", watching(of_one)):
        with watched_interface(two, "faithful", watching(of_two)):
            one(IDS)
            two(IDS)
        one(IDS)
    assert (len(of_one), len(of_two)) == (6, 3)


def test_one_that_ends_first_leaves_the_other_watched():
    one, two = SMALL_MODELS["gpt2"].build("eager"), SMALL_MODELS["llama"].build("eager")
    seen, begun, ended = [], threading.Event(), threading.Event()

    def first():
        with watched_interface(one, "faithful", watching([])):
            begun.set()
            ended.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    begun.wait(10)
    with torch.no_grad(), watched_interface(two, "faithful", watching(seen)):
        ended.set()
        thread.join()
        two(IDS)
    assert len(seen) == 3
    assert "__getitem__" not in vars(transformers.AttentionInterface)


def test_everything_is_as_before_after_an_exception():
    before = transformers.AttentionInterface.get_interface
    model = SMALL_MODELS["gpt2"].build("sdpa")
    with pytest.raises(RuntimeError, match="stop"), watched_interface(model, "faithful", watching([])):
        raise RuntimeError("stop")
    assert transformers.AttentionInterface.get_interface is before
    assert model.config._attn_implementation == "sdpa"
