"""Samples of unequal length are refused by number, and what was complete before them is kept."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing import Sample, capture  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from haarbor.store import open_run  # noqa: E402
from tests.capturing.builders import Scorer  # noqa: E402
from tests.capturing.small_models import IDS, IMAGES, SMALL_MODELS, gpt2  # noqa: E402

LONGER = torch.cat([IDS, IDS[:, :3]], dim=1)[:1]


def named(ids):
    return {"input_ids": ids}


def sample(ids):
    return Sample(inputs=named(ids), labels=(), valid=None)


@pytest.mark.parametrize("form", [lambda ids: ids, named, sample], ids=["tensor", "dictionary", "sample"])
@pytest.mark.parametrize("loader", [list, iter])
def test_a_longer_sample_is_refused_before_it_runs(form, loader, tmp_path):
    model = gpt2()
    batches = [*map(form, IDS.split(1)), form(LONGER)]
    ran = []
    model.register_forward_pre_hook(lambda *_: ran.append(1))
    with pytest.raises(
        CaptureError,
        match=r"sample 3 has 11 in (input_ids|its tensor), sample 0 has 8\. Pad .* attention_mask, or",
    ) as found:
        capture(model, loader(batches), tmp_path / "run")
    assert "\n" not in str(found.value)
    # Once to see the layers, and once for each sample that is complete.
    assert len(ran) == 4
    kept, plain = open_run(tmp_path / "run"), capture(gpt2(), [IDS], tmp_path / "plain")
    assert kept.batches == (0, 1, 2)
    for index in range(3):
        np.testing.assert_array_equal(np.asarray(kept.tensor(index)), np.asarray(plain.tensor(index)))


def test_a_decoder_of_another_length_is_refused(tmp_path):
    first = {"input_ids": IDS[:1], "decoder_input_ids": IDS[:1, :4]}
    second = {**first, "decoder_input_ids": IDS[:1, :5]}
    with pytest.raises(CaptureError, match="sample 1 has 5 in decoder_input_ids, sample 0 has 4"):
        capture(SMALL_MODELS["bart"].build("eager"), [first, second], tmp_path / "run")


def test_a_layer_of_another_length_is_refused(tmp_path):
    tokens = torch.randn(1, 6, 32)
    with pytest.raises(
        CaptureError, match=r"sample 1 has 5 x 5 in the stream 'self', .* 6 x 6\. Pad"
    ) as found:
        capture(Scorer().eval(), [tokens, tokens[:, :5]], tmp_path / "run")
    assert "\n" not in str(found.value)
    assert open_run(tmp_path / "run").batches == (0,)


def test_inputs_of_other_shapes_with_equally_many_tokens_are_taken(tmp_path):
    class Resized(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = SMALL_MODELS["vit"].build("sdpa")

        def forward(self, x):
            return self.model(pixel_values=nn.functional.interpolate(x, (16, 16)))

    batches = [IMAGES[:1], IMAGES[:1, :, :12, :12]]
    assert capture(Resized().eval(), batches, tmp_path / "run").n_batches == 2
