import numpy as np

from haarbor.plots.interactive import affinity_figure


def test_the_affinity_stands_in_tree_order(text):
    org = text.load_result("organization", batch=1)
    trace = affinity_figure(org, heads_per_layer=4).data[0]
    order = org.order("head")
    np.testing.assert_array_equal(trace.z, org.affinities["head"][np.ix_(order, order)])
    assert list(trace.x) == [f"{h // 4}.{h % 4}" for h in order]
    assert list(affinity_figure(org).data[0].x) == [str(h) for h in order]
