"""What a run is called in a page."""

from types import SimpleNamespace

import pytest

from haarbor.report._run_name import run_name


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("/home/somebody/runs/text.zarr", "text.zarr"),
        ("text.zarr/", "text.zarr"),
        (r"C:\runs\text.zarr", "text.zarr"),
        ("s3://bucket/runs/text.zarr", "text.zarr"),
        ("/", "run"),
    ],
)
def test_a_run_is_called_by_the_last_part_of_its_place(location, name):
    assert run_name(SimpleNamespace(location=location)) == name
