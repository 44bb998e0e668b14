"""A record that is not what the layer computes is noticed."""

import pytest

torch = pytest.importorskip("torch")

from haarbor.capturing._call_checks import gives_output, gives_weights  # noqa: E402
from haarbor.capturing._product_call import ProductCall  # noqa: E402


def product(dtype=torch.float32, **changes):
    generator = torch.Generator().manual_seed(0)
    plain = {
        "query": torch.randn(1, 4, 5, 8, generator=generator).to(dtype),
        "key": torch.randn(1, 2, 6, 8, generator=generator).to(dtype),
        "scaling": 0.7, "bias": None, "mask": None, "softcap": None, "sinks": None,
    }  # fmt: skip
    return ProductCall(**{**plain, **changes})


def own_weights(call):
    key = call.key.repeat_interleave(2, dim=1)
    return (call.query @ key.transpose(2, 3) * call.scaling).softmax(-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_weights_and_output_of_the_call_itself_pass(dtype):
    call = product(dtype)
    value = torch.randn(1, 2, 6, 8).to(dtype)
    weights = own_weights(call)
    assert gives_weights(call, weights)
    assert gives_output(call, value, weights @ value.repeat_interleave(2, dim=1))


@pytest.mark.parametrize(
    "change", [{"scaling": 0.6}, {"bias": torch.eye(5, 6)[None, None]}, {"softcap": 1.0}]
)
def test_a_term_that_is_missed_is_noticed(change):
    weights = own_weights(product())
    value = torch.randn(1, 2, 6, 8)
    assert not gives_weights(product(**change), weights)
    assert not gives_output(product(**change), value, weights @ value.repeat_interleave(2, dim=1))


def test_numbers_that_are_none_are_noticed():
    weights = own_weights(product())
    assert not gives_weights(product(), torch.full_like(weights, torch.nan))


def test_other_shapes_are_noticed():
    weights = own_weights(product())
    assert not gives_weights(product(), weights[..., :-1])
    assert not gives_output(product(), torch.randn(1, 3, 6, 8), torch.randn(1, 4, 5, 8))


def test_rows_that_see_no_key_are_not_compared():
    mask = torch.ones(1, 1, 5, 6, dtype=torch.bool)
    mask[..., 4, :] = False
    weights = own_weights(product())
    weights[..., 4, :] = 0.5
    assert gives_weights(product(mask=mask), weights)
