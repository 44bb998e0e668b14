"""Runs, and the page of one of them, that several tests only read."""

import pytest

from haarbor.report import report_html
from tests.report.runs import picture_run, text_run


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    return text_run(tmp_path_factory.mktemp("text") / "text.zarr")


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    return picture_run(tmp_path_factory.mktemp("pictures") / "pictures.zarr")


@pytest.fixture(scope="session")
def page(text):
    """The page of `text`."""
    return report_html(text)
