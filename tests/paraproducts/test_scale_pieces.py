from haarbor.paraproducts._scale_pieces import subsets


def test_subsets_come_by_size_and_are_never_empty():
    assert subsets((0, 1, 2)) == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert subsets((0, 1, 2), proper=True) == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    assert subsets((3,), proper=True) == []
    assert subsets(()) == []
