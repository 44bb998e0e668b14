import numpy as np

import haarbor as hb
from haarbor.paraproducts import (
    paraproduct_forms,
)
from tests.samples import CHAINED, HALVES


def test_only_child_chains_and_repeated_levels_change_nothing(rng):
    f = rng.normal(size=(5, 4))
    longer = hb.PartitionTree(np.repeat(CHAINED.levels, [2, 1, 3, 1, 1, 2], axis=0))
    for name in ("exp", "softmax"):
        plain = paraproduct_forms(f, CHAINED, HALVES, name)
        chained = paraproduct_forms(f, longer, HALVES, name)
        for form, split in plain.items():
            np.testing.assert_allclose(chained[form].approximation, split.approximation, atol=1e-13)
        assert chained["paper"].scale_energy.shape == (9, 2)
        np.testing.assert_allclose(
            chained["paper"].scale_energy.sum(), plain["paper"].scale_energy.sum(), rtol=1e-12
        )
        # Level 0 to level 1 repeats the root: nothing splits.
        assert (chained["paper"].scale_energy[0] == 0).all()
