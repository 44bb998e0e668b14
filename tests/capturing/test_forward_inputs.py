"""What a batch holds for the forward of a model; what is unclear is one line."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.data import Dataset  # noqa: E402
from transformers.utils import PushToHubMixin  # noqa: E402

from haarbor.capturing import capture  # noqa: E402
from haarbor.capturing._batch_samples import BatchSamples  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.capturing.small_models import IDS, IMAGES, SMALL_MODELS, gpt2  # noqa: E402

Named = namedtuple("Named", ["input_ids", "attention_mask", "labels"])
Unnamed = namedtuple("Unnamed", ["left", "right"])
MASK = torch.tensor([[1] * 8, [1] * 6 + [0] * 2, [1] * 5 + [0] * 3])


def inputs_of(batches, model):
    return [sample.inputs for _, sample in BatchSamples(batches, model).missing(())]


@pytest.mark.parametrize(
    "batch",
    [
        (IDS, torch.tensor([1, 2, 3])),
        [IDS, torch.tensor([1, 2, 3])],
        (IDS, torch.roll(IDS, 1, dims=1)),
        (IDS, ["a", "b", "c"]),
        (IDS, None),
        (IDS, torch.tensor([1, 2, 3]), {"path": ["x", "y", "z"]}),
        [IDS],
        (IDS.numpy(), np.array([1, 2, 3])),
        Unnamed(IDS, torch.tensor([1.0, 2.0, 3.0])),
        IDS.numpy()[:, ::-1][:, ::-1],
    ],
    ids=["pair", "list", "next tokens", "texts", "nothing", "triple", "alone", "arrays", "unnamed",
         "backwards"],
)  # fmt: skip
def test_the_first_of_a_tuple_is_the_input(batch):
    found = inputs_of([batch], gpt2())
    assert [list(inputs) for inputs in found] == [[""]] * 3
    assert torch.equal(torch.cat([inputs[""] for inputs in found]), IDS)


@pytest.mark.parametrize(
    "batch",
    [
        {"input_ids": IDS, "attention_mask": MASK},
        {"input_ids": IDS.tolist(), "attention_mask": MASK.numpy()},
        OrderedDict(input_ids=IDS, attention_mask=MASK, label=torch.tensor([0, 1, 0]), token_type_ids=None),
        ({"input_ids": IDS, "attention_mask": MASK}, torch.tensor([0, 1, 0])),
        (Named(IDS, MASK, None), torch.tensor([0, 1, 0])),
        Named(IDS, MASK, None),
    ],
    ids=["dict", "lists", "with labels", "dict in a pair", "named in a pair", "named"],
)
def test_named_inputs_keep_their_names(batch):
    found = inputs_of([batch], gpt2())
    assert torch.equal(torch.cat([inputs["input_ids"] for inputs in found]), IDS)
    assert torch.equal(torch.cat([inputs["attention_mask"] for inputs in found]), MASK)
    given = {name for inputs in found for name, value in inputs.items() if value is not None}
    assert given == {"input_ids", "attention_mask"}


def test_an_encoding_of_transformers_is_a_batch():
    transformers = pytest.importorskip("transformers")
    encoding = transformers.BatchEncoding({"input_ids": IDS, "attention_mask": MASK})
    # As a single batch, and as one of several.
    for batches in (encoding, [encoding]):
        assert len(inputs_of(batches, gpt2())) == 3


def test_labels_stay_where_the_model_asks_for_them():
    encoder_decoder = SMALL_MODELS["t5"].build("eager")
    (found, *_) = inputs_of([{"input_ids": IDS, "labels": IDS}], encoder_decoder)
    assert set(found) == {"input_ids", "labels"}


def test_a_model_of_two_inputs_gets_both(tmp_path):
    torch.manual_seed(0)
    model = nn.Transformer(32, 4, 1, 1, 32, batch_first=True).eval()
    source, target = torch.randn(2, 6, 32), torch.randn(2, 5, 32)
    run = capture(model, [(source, target, torch.tensor([0, 1]))], tmp_path / "run")
    assert run.n_batches == 2
    assert set(run.streams) == {"encoder", "decoder", "cross"}
    with pytest.raises(CaptureError, match="the model takes src, tgt; a batch has 1 of 2"):
        capture(model, [(source,)], tmp_path / "other")


class Pictures(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        if index >= 2:
            raise IndexError
        return IMAGES[index], index


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([(IDS, MASK)], "may be an input, too"),
        ([(IDS, torch.zeros_like(IDS))], "may be an input, too"),
        ([[IMAGES[0], IMAGES[1]]], "may be an input, too"),
        ([(IDS, IDS, torch.tensor([1, 2, 3]))], "may be an input, too"),
        ([[IDS[0], IDS[1]]], "may be an input, too"),
        (Pictures(), "one item of a data set. Wrap it in a torch.utils.data.DataLoader"),
        ([(IMAGES[0], torch.tensor(3))], "one item of a data set"),
        (["the cat"], "a batch must be a tensor, a dictionary of model inputs, or a pair"),
        ([["the cat", "sat"]], "found a list of str"),
        ([None], "found None"),
        ([7], "found 7"),
        ([[]], "found a list of nothing"),
        ([{}], "must have one batch size; found no tensors"),
        ([{1: IDS}], "inputs of a model are named by text; a batch has the name 1"),
        ([{"input_ids": IDS, "attention_mask": MASK[:2]}],
         r"must have one batch size; .* haarbor.capturing.Sample\(inputs=\{...\}, labels=\(\), valid=None"),
        ([{"input_ids": IDS, "texts": ["a", "b", "c"]}], "input 'texts' of a batch must be a tensor"),
        ([{"input_ids": [[1, 2], [3]]}], "numbers in rows of one length"),
        ([{"use_cache": True}], "must have one batch size; found no tensors"),
        ([{"input_ids": IDS[0]}], r"a batch axis in front, .* input_ids has shape \(8,\). Write ids.None."),
        ([{"input_ids": [4, 5], "attention_mask": [1, 1]}], r"input_ids has shape \(2,\). Write ids.None."),
        ([IDS[0]], r"a batch axis in front, .* a batch has shape \(8,\). Write ids.None."),
        (IDS[0].numpy(), r"a batch has shape \(8,\). Write ids.None. for ids"),
        ([{"input_ids": IDS, "past_key_values": ((IDS, IDS),)}], "'past_key_values' of a batch must be"),
        ([torch.tensor(3.0)], "must have a batch axis in front; a tensor is a single number"),
        ([IDS.float().to_sparse()], "must be a dense tensor; found a sparse one. Convert it with to_dense"),
        ([IDS.to("meta")], "a batch must hold values; found a tensor on the meta device, .* Make it on"),
        ([{"input_ids": IDS.to("meta")}], "input 'input_ids' of a batch must hold values; found a tensor on"),
        ([np.array(["a", "b"])], "a batch must be a tensor or numbers"),
        ([np.array([object()])], "a batch must be a tensor or numbers"),
        ("book.txt", "batches must be tensors, dictionaries of model inputs, or a loader of them; found"),
        (None, "batches must be .* found None"),
        (5, "batches must be .* found 5"),
        ([], "at least one batch to capture; found none"),
        (iter([]), "at least one batch to capture; found none"),
        ([IDS[:0]], "at least one batch to capture; found none"),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_one_line(batches, message, tmp_path):
    with pytest.raises(CaptureError, match=message) as found:
        capture(gpt2(), batches, tmp_path / "run")
    assert "\n" not in str(found.value)
    assert not (tmp_path / "run").exists()


def test_nested_tensors_are_one_line():
    with pytest.warns(UserWarning, match="nested"):
        ragged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    with pytest.raises(CaptureError, match=r"found a nested one. Pad it"):
        inputs_of([ragged], gpt2())


class Wrapper(nn.Module):
    """Passes everything on to the model in it, as adapters do."""

    def __init__(self, model):
        super().__init__()
        self.base_model = model

    def forward(self, *args, **kwargs):
        return self.base_model(*args, **kwargs)


class Adapter(Wrapper, PushToHubMixin):
    """Is of a class of transformers, as adapters of PEFT are."""


class OneNamed(Wrapper):
    """Names one argument, and passes the others on."""

    def forward(self, input_ids, **kwargs):
        return self.base_model(input_ids=input_ids, **kwargs)


class Beside(Wrapper):
    """Has a layer of its own beside the model."""

    def __init__(self, model):
        super().__init__(model)
        self.head = nn.Linear(2, 2)


def test_what_has_no_rows_is_the_same_for_every_row():
    from transformers import DynamicCache

    cache = DynamicCache()
    batch = {
        "input_ids": IDS, "use_cache": False, "past_key_values": cache, "interpolate_pos_encoding": True,
        "attention_mask": None, "logits_to_keep": 1, "scale": 0.5, "task": "mlm", "step": torch.tensor(3),
        "number": np.float32(2),
    }  # fmt: skip
    found = inputs_of([batch], gpt2())
    assert len(found) == 3
    assert torch.equal(torch.cat([inputs["input_ids"] for inputs in found]), IDS)
    for inputs in found:
        assert inputs["past_key_values"] is cache
        assert {name: value for name, value in inputs.items() if name not in ("input_ids",)} == {
            name: value for name, value in batch.items() if name not in ("input_ids",)
        }


def test_nothing_for_an_argument_that_the_forward_has_not_is_left_out():
    class Plain(nn.Module):
        def forward(self, x, mask=None):
            return x

    (found, *_) = inputs_of([{"x": IDS, "mask": None, "token_type_ids": None}], Plain())
    assert set(found) == {"x", "mask"}


@pytest.mark.parametrize(
    "wrapper", [Wrapper, Adapter, OneNamed, Beside, lambda model: Wrapper(Wrapper(model))]
)
def test_the_model_in_a_wrapper_says_what_it_takes(wrapper):
    batch = {"input_ids": IDS, "labels": IDS, "label": torch.tensor([0, 1, 0])}
    (found, *_) = inputs_of([batch], wrapper(SMALL_MODELS["t5"].build("eager")))
    assert set(found) == {"input_ids", "labels"}
    (found, *_) = inputs_of([batch], wrapper(gpt2().transformer))
    assert set(found) == {"input_ids"}


def test_a_model_that_passes_nothing_on_is_the_last_to_say():
    class Closed(Wrapper):
        def forward(self, input_ids, mask=None):
            return self.base_model(input_ids=input_ids, labels=input_ids)

    batch = {"input_ids": IDS, "labels": IDS, "mask": None, "position_ids": None}
    (found, *_) = inputs_of([batch], Wrapper(Closed(gpt2())))
    assert set(found) == {"input_ids", "mask"}


def test_a_wrapper_of_several_models_gets_everything():
    both = Wrapper(gpt2())
    both.other = gpt2()
    (found, *_) = inputs_of([{"input_ids": IDS, "labels": IDS}], both)
    assert set(found) == {"input_ids", "labels"}
