"""One organised run that all interactive figures read."""

import pytest

from tests.report.runs import text_run

pytest.importorskip("plotly")


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    return text_run(tmp_path_factory.mktemp("text") / "text.zarr")
