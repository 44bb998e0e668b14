import numpy as np

from haarbor.analysis import RunRegularity


def test_the_gain_is_over_the_order_of_the_text_and_the_repr_tells_the_medians():
    exponents = {
        name: np.array([0.4, 0.6, np.nan])
        for name in RunRegularity.__dataclass_fields__
        if name.startswith(("organised", "natural", "shuffled"))
    }
    found = RunRegularity(
        **{**exponents, "natural": np.array([0.1, 0.2, np.nan]), "shuffled": np.array([-0.5, -0.3, np.nan])},
        layers=np.array([0, 0, 1]),
        batch=2,
        stream="attention",
        settings="ours",
        seed=0,
    )
    np.testing.assert_allclose(found.gain, [0.3, 0.4, np.nan])
    assert repr(found) == (
        "RunRegularity(3 heads, batch 2, median exponent 0.500 organised, 0.150 in the order of the text, "
        "-0.400 shuffled)"
    )
