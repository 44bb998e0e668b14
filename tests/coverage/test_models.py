"""Every type of the table is captured as an independent observer saw it, or is refused with the reason."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from haarbor.capturing import capture  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.coverage.captured import batch, captured, implementation, undisturbed  # noqa: E402
from tests.coverage.inputs import INPUTS, N_PADDED, N_TEXT  # noqa: E402
from tests.coverage.table import MODEL_TYPES  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")

_TOLERANCE = 1e-4


def marked(name, *more):
    """A case of a test; those of types that are not essential run with the slow tests."""
    marks = () if MODEL_TYPES[name].essential else (pytest.mark.slow,)
    return pytest.param(name, *more, marks=marks, id="-".join((name, *more)))


RECORDED = [marked(name, mode) for name, kind in MODEL_TYPES.items() for mode in kind.modes]
REFUSED = [marked(name) for name, kind in MODEL_TYPES.items() if kind.refused]
ONLY_FAITHFUL = [marked(name) for name, kind in MODEL_TYPES.items() if kind.transparent]
TELLING = [marked(name) for name, kind in MODEL_TYPES.items() if kind.streams and kind.gives_attentions]


def truths(name, mode):
    """Of each stream, what was computed in the layers that the table puts there: (head, query, key)."""
    kind = MODEL_TYPES[name]
    found = {stream: [] for stream in kind.streams}
    for seen in undisturbed(name, mode)[0]:
        assert seen.weights.numel(), f"{seen.name} computes attention out of sight"
        weights = seen.weights.numpy()
        weights = weights.reshape(-1, *weights.shape[-2:])
        if kind.sinks:
            weights = weights[..., :-1]
        homes = [
            stream for stream, expected in kind.streams.items() if expected.holds(seen.name, weights.shape)
        ]
        assert len(homes) == 1, f"{seen.name} of shape {weights.shape} belongs to {homes}"
        found[homes[0]].append(weights)
    return found


def told_attentions(output):
    """Every tensor that an output, or one within it, calls attentions."""
    for name, value in output.items():
        if isinstance(value, dict):
            yield from told_attentions(value)
        elif name.endswith("attentions"):
            yield from (layer for layer in value if isinstance(layer, torch.Tensor))


def valid_queries(name, stream):
    """Queries that are no padding."""
    n_queries = stream.mask.shape[0]
    valid = np.ones(n_queries, dtype=bool)
    if "attention_mask" in MODEL_TYPES[name].batch() and n_queries == N_TEXT:
        valid[-N_PADDED:] = False
    return valid


@pytest.mark.parametrize(("name", "mode"), RECORDED)
def test_streams_are_named_after_parts_and_hold_all_of_their_layers(name, mode):
    expected = {stream: parts.n_layers for stream, parts in MODEL_TYPES[name].streams.items()}
    assert {stream: len(seen) for stream, seen in truths(name, mode).items()} == expected
    found = captured(name, mode).streams
    assert {stream: part.n_layers for stream, part in found.items()} == expected


@pytest.mark.parametrize(("name", "mode"), RECORDED)
def test_streams_come_in_the_order_of_the_table_that_of_the_text_first(name, mode):
    assert list(captured(name, mode).streams) == list(MODEL_TYPES[name].streams)


@pytest.mark.parametrize(("name", "mode"), RECORDED)
def test_every_layer_is_recorded_as_it_was_computed(name, mode):
    for stream, expected in truths(name, mode).items():
        found = captured(name, mode).streams[stream]
        rows = valid_queries(name, found)
        for layer, seen in zip(found.probabilities, expected, strict=True):
            np.testing.assert_allclose(layer[:, rows], seen[:, rows], rtol=0, atol=_TOLERANCE)
            assert not layer[:, ~rows].any()


@pytest.mark.parametrize(("name", "mode"), RECORDED)
def test_the_mask_is_open_where_weight_went(name, mode):
    for stream, seen in truths(name, mode).items():
        found = captured(name, mode).streams[stream]
        weighted = (np.concatenate(seen) > 0).any(axis=0)
        np.testing.assert_array_equal(found.mask, weighted & valid_queries(name, found)[:, None])


@pytest.mark.parametrize(("name", "mode"), RECORDED)
def test_recorded_logits_are_those_of_the_recorded_probabilities(name, mode):
    for found in captured(name, mode).streams.values():
        rows = found.mask.any(axis=1)
        weights = found.probabilities[:, :, rows].astype(np.float64)
        # A window may close keys in one layer that another sees, and a sink takes weight from all alike.
        scores = np.where(weights > 0, found.logits[:, :, rows], -np.inf)
        expected = np.exp(scores - scores.max(axis=-1, keepdims=True))
        expected /= expected.sum(axis=-1, keepdims=True)
        weights /= weights.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(weights, expected, rtol=0, atol=_TOLERANCE)


@pytest.mark.parametrize(("name", "mode"), RECORDED)
def test_the_output_is_bit_for_bit_that_of_the_model_alone(name, mode):
    alone = undisturbed(name, mode)[1]
    assert alone
    passes = captured(name, mode).outputs
    assert passes
    for during in passes:
        assert len(during) == len(alone)
        for found, expected in zip(during, alone, strict=True):
            assert torch.equal(found, expected)


@pytest.mark.parametrize(("name", "mode"), RECORDED)
def test_attention_is_sharp_enough_to_show_mistakes(name, mode):
    for stream, layers in truths(name, mode).items():
        # Each head of each layer, where it may see two keys at least, against all others.
        heads = np.concatenate(layers)
        uniform = (heads > 0) / np.maximum((heads > 0).sum(axis=-1, keepdims=True), 1)
        assert np.abs(heads - uniform).max(axis=(1, 2)).min() > 100 * _TOLERANCE, stream
        for one in range(1, len(heads)):
            assert np.abs(heads[:one] - heads[one]).max(axis=(1, 2)).min() > 100 * _TOLERANCE, stream


@pytest.mark.parametrize("name", TELLING)
def test_the_observer_sees_the_attention_that_the_model_itself_tells(name):
    kind = MODEL_TYPES[name]
    model = kind.build("eager")
    with torch.no_grad():
        output = model(**kind.batch(), output_attentions=True)
    told = list(told_attentions(output))
    assert told
    seen = [one for layers in truths(name, "faithful").values() for one in layers]
    for layer in told:
        weights = layer.numpy().reshape(-1, *layer.shape[-2:])
        assert any(one.shape == weights.shape and np.allclose(one, weights, atol=1e-6) for one in seen)


def test_padding_of_tokens_is_not_padding_within_blocks(tmp_path):
    padding = INPUTS["padded"]()["attention_mask"]
    kind = MODEL_TYPES["longt5"]
    run = capture(kind.build("eager"), [{**kind.batch(), "attention_mask": padding}], tmp_path / "run")
    assert run.mask(0, "encoder").any(axis=1).all()


def test_attention_from_text_to_picture_and_back_are_two_streams_at_equal_lengths(tmp_path):
    kind = MODEL_TYPES["lxmert"]
    as_many = {name: torch.ones(1, N_TEXT, size) for name, size in (("visual_feats", 16), ("visual_pos", 4))}
    run = capture(kind.build("eager"), [{**kind.batch(), **as_many}], tmp_path / "run")
    across = [plan.n_layers for plan in run.plan.streams if "visual_attention" in plan.name]
    assert across == [1, 1]


@pytest.mark.parametrize("mode", ["faithful", "transparent"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_recorded_is_refused_by_name(name, mode, tmp_path):
    kind = MODEL_TYPES[name]
    model = kind.build(implementation(kind, mode))
    with pytest.raises(CaptureError) as refusal:
        capture(model, [batch(kind)], tmp_path / "run", mode=mode)
    assert kind.refused in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ONLY_FAITHFUL)
def test_transparent_is_refused_where_the_model_does_not_support_sdpa(name, tmp_path):
    kind = MODEL_TYPES[name]
    model = kind.build("eager")
    with pytest.raises(CaptureError) as refusal:
        capture(model, [batch(kind)], tmp_path / "run", mode="transparent", **kind.options)
    assert kind.transparent in str(refusal.value)
    assert kind.model in str(refusal.value)
    assert not (tmp_path / "run").exists()
