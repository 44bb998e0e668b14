"""Tensors that a model can be run on."""

import pytest

torch = pytest.importorskip("torch")

from haarbor.capturing import require_dense  # noqa: E402
from haarbor.errors import CaptureError, DataError  # noqa: E402


@pytest.mark.parametrize("value", [torch.ones(2, 2), [1, 2], None, "text"])
def test_dense_tensors_and_what_is_none_pass(value):
    require_dense("a batch", value, CaptureError)


@pytest.mark.parametrize("error", [CaptureError, DataError])
@pytest.mark.parametrize(
    ("value", "found"),
    [
        (torch.ones(2, 2).to_sparse(), "a batch must be a dense tensor; found a sparse one. Convert it"),
        (torch.ones(2, 2, device="meta"), "a batch must hold values; found a tensor on the meta device"),
    ],
)
def test_others_are_refused_as_the_room_refuses(value, found, error):
    with pytest.raises(error, match=found):
        require_dense("a batch", value, error)
