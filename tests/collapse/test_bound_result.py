import numpy as np
import pytest

from tests.collapse.made_up import made_bound, made_collapse


def test_every_layer_takes_three_times_the_logarithm_and_its_step():
    bound = made_bound(2, limit=0.0)
    # A step of 0.5, and half a logarithm of 100 tokens: 1.5 - 3, then 1.5 - 4.5.
    assert bound.log10(np.array([-1.0, -9.0, -9.0]), 100).tolist() == [-1.0, -1.5, -3.0]


def test_it_begins_where_it_is_proved_for_all_layers_behind():
    bound = made_bound(3, limit=-1.2)
    # From the first depth on it would rise above the limit; from the second on it does not.
    found = bound.log10(np.array([-1.0, -2.0, -2.5, -3.0]), 1)
    assert np.isnan(found[0])
    assert found[1:].tolist() == [-2.0, -5.5, -16.0]
    assert np.isnan(bound.log10(np.zeros(4), 1)).all()


def test_it_stands_beside_the_residuals_relative_to_the_tokens():
    measured = made_collapse()
    bound = made_bound(limit=-1.0).relative(measured)
    start = np.log10(0.05 * np.array([0.9, 1.0]))
    expected = np.mean([[10**one, 10 ** (0.5 + np.log10(4) + 3 * one)] for one in start], axis=0)
    np.testing.assert_allclose(10 ** bound[:2], expected)
    np.testing.assert_allclose(10 ** bound[0], measured.middle("composite", "attention alone")[0])
    larger = made_collapse()
    # The same residuals of tokens ten times as large are ten times as large themselves.
    larger.figures["log10_size"][:] += 1.0
    shifted = made_bound(limit=9.0).relative(larger)
    np.testing.assert_allclose(10 ** shifted[1], 100 * expected[1])


def test_the_words_say_what_it_speaks_of():
    measured = made_collapse()
    assert "proved from the first layer on" in made_bound().words(measured)
    assert "proved only behind layer 1" in made_bound(limit=-2.0).words(measured)
    told = made_bound(limit=-99.0).words(measured)
    assert "proved at no depth" in told
    assert "would have to be below 1e-99" in told
    masked = made_bound(reason="its attention is masked")
    assert masked.words(measured).endswith("It does not speak of this network: its attention is masked.")
    assert np.isnan(masked.relative(measured)).all()


@pytest.mark.parametrize("missing", ["variant", "size"])
def test_what_was_measured_without_the_variant_has_no_bound(missing):
    measured = made_collapse()
    if missing == "size":
        # As measured before the sizes of tokens were kept.
        del measured.figures["log10_size"]
    else:
        object.__setattr__(measured, "variants", ("as it is",))
    assert np.isnan(made_bound().relative(measured)).all()
