import shutil

from haarbor.report.sections._network_entropy_section import network_entropy_section
from haarbor.store import open_run


def test_it_holds_the_entropies_of_every_batch(text):
    found = network_entropy_section(text.part())
    kept = [text.load_result("network-entropy", batch=batch) for batch in text.batches]
    assert found["raw"] == [entropy.raw for entropy in kept]
    assert found["fine_share"] == [entropy.fine_share for entropy in kept]
    assert found["tie_interval"] == [list(entropy.tie_interval) for entropy in kept]
    assert (found["k"], found["n_functions"]) == (kept[0].k, kept[0].n_functions)


def test_without_the_entropy_of_one_batch_there_is_none(text, tmp_path):
    part = open_run(shutil.copytree(text.location, tmp_path / "text.zarr")).part()
    part.delete_result("network-entropy", batch=1)
    assert network_entropy_section(part) is None
