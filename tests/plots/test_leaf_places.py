import numpy as np

from haarbor.plots._leaf_places import checked_order, leaf_places
from tests.samples import CHAINED, HALVES


def test_places_of_a_tree_of_halves_by_hand():
    places = leaf_places(HALVES, np.array([2, 3, 1, 0]))
    spans = {
        tuple(sorted(HALVES.pruned.members(folder).tolist())): (
            int(places.first[folder]),
            int(places.last[folder]),
            float(places.middle[folder]),
        )
        for folder in range(HALVES.pruned.n_folders)
    }
    assert spans == {
        (0, 1, 2, 3): (0, 3, 1.5),
        (0, 1): (2, 3, 2.5),
        (2, 3): (0, 1, 0.5),
        (2,): (0, 0, 0.0),
        (3,): (1, 1, 1.0),
        (1,): (2, 2, 2.0),
        (0,): (3, 3, 3.0),
    }


def test_without_an_order_folders_stand_together():
    order = checked_order(None, CHAINED)
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]
    assert checked_order(order, CHAINED).tolist() == order.tolist()
