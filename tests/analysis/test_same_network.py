import pytest

from haarbor.analysis import require_same_network
from haarbor.errors import DataError
from tests.compare.networks import attention, written


def test_heads_and_weights_must_be_those_of_the_run(tmp_path):
    run = written(tmp_path / "run", [attention(0)], weights="sha256:one")
    require_same_network(run.part(), weights="sha256:one", n_heads=8)
    with pytest.raises(DataError, match="it has 8 heads, and the model has 6"):
        require_same_network(run.part(), n_heads=6)
    with pytest.raises(DataError, match="its weights are sha256:one, and those of the model are sha256:two"):
        require_same_network(run.part(), weights="sha256:two")
    imported = written(tmp_path / "imported", [attention(0)])
    require_same_network(imported.part(), weights="sha256:two")
