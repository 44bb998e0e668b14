"""Models that torch.compile changed: the same attention as without, and a run that either continues."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import capture, compiled_part, model_forward  # noqa: E402
from haarbor.capturing._compilation import uncompiled, without_compilation  # noqa: E402
from haarbor.capturing._weights_digest import weights_digest  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.capturing.builders import Scorer  # noqa: E402
from tests.capturing.small_models import IDS, SMALL_MODELS  # noqa: E402


def refuse(_graph, _inputs):
    raise AssertionError("something was compiled")


def compiled(thing):
    """Whatever runs it compiled fails."""
    return torch.compile(thing, backend=refuse)


def whole(model):
    return compiled(model)


def called(model):
    model.compile(backend=refuse)
    return model


def forward(model):
    model.forward = compiled(model.forward)
    return model


def layer(model):
    model.model.layers[1] = compiled(model.model.layers[1])
    return model


WAYS = {"whole": whole, "called": called, "forward": forward, "layer": layer}


@pytest.fixture(autouse=True)
def forgotten():
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("way", WAYS)
def test_a_compiled_model_is_recorded_as_it_was_written(way, tmp_path):
    small = SMALL_MODELS["llama"]
    plain = capture(small.build("eager"), [IDS], tmp_path / "plain")
    model = WAYS[way](small.build("eager"))
    found = capture(model, [IDS], tmp_path / "compiled")
    assert found.plan == plain.plan
    for index in range(3):
        np.testing.assert_array_equal(np.asarray(found.tensor(index)), np.asarray(plain.tensor(index)))


@pytest.mark.parametrize("way", WAYS)
def test_a_compiled_model_continues_a_run_of_the_plain_one(way, tmp_path):
    small = SMALL_MODELS["llama"]

    def stop(_step, _done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        capture(small.build("eager"), [IDS], tmp_path / "run", on_progress=stop)
    assert capture(WAYS[way](small.build("eager")), [IDS], tmp_path / "run").n_batches == 3


def decorated():
    """A model that calls a compiled function; torch's compiler is loaded here, not with this file."""

    class Decorated(Scorer):
        def forward(self, x):
            return self.mixed(x)

        @torch.compile(backend=refuse)
        def mixed(self, x):
            return super().forward(x)

    return Decorated()


def test_a_compiled_function_inside_is_recorded_as_it_was_written(tokens, tmp_path):
    torch.manual_seed(0)
    plain = Scorer().eval()
    model = decorated().eval()
    model.load_state_dict(plain.state_dict())
    expected = capture(plain, [tokens], tmp_path / "plain")
    found = capture(model, [tokens], tmp_path / "compiled")
    np.testing.assert_array_equal(np.asarray(found.tensor(0)), np.asarray(expected.tensor(0)))
    # Outside of a capture it is compiled as before.
    with torch.no_grad(), pytest.raises(Exception, match="something was compiled"):
        model(tokens)


def test_the_stance_before_is_restored():
    seen = []

    class Told(nn.Module):
        def forward(self, x):
            seen.append(torch._dynamo.eval_frame._stance.stance)
            return x

    with torch.compiler.set_stance("eager_on_recompile"):
        model_forward(Told(), {"": torch.ones(2)})
        assert torch._dynamo.eval_frame._stance.stance == "eager_on_recompile"
    assert seen == ["force_eager"]


@pytest.mark.parametrize(("way", "part"), [("whole", ""), ("called", ""), ("forward", ""),
                                           ("layer", "model.layers.1")])  # fmt: skip
def test_the_compiled_part_is_found(way, part):
    plain = SMALL_MODELS["llama"].build("eager")
    assert compiled_part(plain) is None
    assert compiled_part(WAYS[way](plain)) == part


def test_a_wrapper_that_looks_names_up_inside_stays():
    class Adapter(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.model, name)

    adapter = Adapter(compiled(nn.Linear(2, 2)))
    assert adapter._orig_mod is not None
    assert uncompiled(adapter) is adapter


def test_a_layer_that_is_compiled_has_the_same_weights():
    small = SMALL_MODELS["llama"]
    assert weights_digest(layer(small.build("eager"))) == weights_digest(small.build("eager"))


def test_a_pytorch_that_cannot_run_it_otherwise_is_one_line(monkeypatch):
    monkeypatch.delattr(torch.compiler, "set_stance")
    model = SMALL_MODELS["llama"].build("eager")
    with without_compilation(model):
        pass
    with pytest.raises(CaptureError, match=r"model.layers.1 is compiled, .* PyTorch 2.6 or newer") as found:
        model_forward(layer(model), {"input_ids": IDS})
    assert "\n" not in str(found.value)
