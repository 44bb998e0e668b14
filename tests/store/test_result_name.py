import numpy as np
import pytest

from haarbor.errors import SettingError
from tests.store.builders import files_of


@pytest.fixture
def run(saved_run):
    return saved_run


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../../x", "../../../../../kept", "/etc", "a/b", "a\\b", "zarr.json", "x.lock",
     "x.partial", "\0", "\ud800", "a" * 101, None, 5, b"x", "desktop.ini"],
)  # fmt: skip
def test_names_that_no_result_can_have_are_refused_everywhere_and_nothing_is_touched(run, place, name):
    (place.parent / "kept").mkdir()
    (place.parent / "kept" / "file").write_text("kept")
    before = files_of(place.parent)
    for use in (
        run.load_result,
        run.has_result,
        run.delete_result,
        lambda n, **k: run.save_result(1, n, **k),
    ):
        for batch in (0, None):
            with pytest.raises(SettingError, match="a result's name must be letters") as caught:
                use(name, batch=batch)
            str(caught.value).encode()
    assert files_of(place.parent) == before


@pytest.mark.parametrize(
    "batch", [-1, True, False, 1.0, "0", 10**9, np.True_, np.array(0), (0, True), (0, 1.5), ("0",), (-1,)]
)
def test_batches_that_none_can_be_are_refused_everywhere(run, batch):
    for use in (
        run.load_result,
        run.has_result,
        run.delete_result,
        lambda n, **k: run.save_result(1, n, **k),
    ):
        with pytest.raises(SettingError, match="batch must be a whole number from 0 to 999999; found"):
            use("x", batch=batch)


@pytest.mark.parametrize("batch", [-1, True, 1.0, "0", None, [0], 10**9])
def test_batches_that_none_can_be_are_refused_by_what_reads(run, batch):
    for use in (run.tensor, run.mask, run.labels, run.picture):
        with pytest.raises(SettingError, match="batch must be a whole number from 0 to 999999; found"):
            use(batch)


def test_batches_may_be_numbers_of_numpy(run):
    assert run.load_result("x", batch=np.int64(0))["b"] == "text"
    assert run.tensor(np.uint8(1)).shape == (4, 4, 6)
    run.save_result(1, "y", batch=np.arange(2))
    assert run.has_result("y", batch=(0, 1))


@pytest.mark.parametrize(
    "chosen", [{"content": "../x"}, {"content": 5}, {"stream": ".."}, {"stream": 5}, {"stream": []}]
)
def test_contents_and_streams_that_the_run_does_not_hold_are_refused_everywhere(run, place, chosen):
    before = files_of(place)
    for use in (
        run.load_result,
        run.has_result,
        run.delete_result,
        lambda n, **k: run.save_result(1, n, **k),
    ):
        with pytest.raises(SettingError, match="must be one"):
            use("x", batch=0, **chosen)
    assert files_of(place) == before
