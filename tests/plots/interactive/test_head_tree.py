from haarbor.plots.interactive import affinity_figure, head_tree_figure


def test_the_icicle_is_the_tree(text):
    trace = head_tree_figure(text).data[0]
    tree = text.load_result("consensus").tree
    size, parent, label = (
        dict(zip(trace.ids, column, strict=True)) for column in (trace["values"], trace.parents, trace.labels)
    )
    leaves = [name for name in trace.ids if size[name] == 1]
    assert sorted(label[name] for name in leaves) == sorted(f"{h // 4}.{h % 4}" for h in range(12))

    order = affinity_figure(text).data[0].x
    assert [label[name] for name in leaves] == list(order)
    assert (trace.sort, trace.branchvalues, trace.maxdepth) == (False, "total", None)

    def heads_below(name):
        if size[name] == 1:
            return {label[name]}
        return set().union(*(heads_below(child) for child in trace.ids if parent[child] == name))

    folders = {frozenset(f"{h // 4}.{h % 4}" for h in folder) for level in tree for folder in level}
    assert {frozenset(heads_below(name)) for name in trace.ids} == folders
