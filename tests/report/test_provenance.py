"""Commands and settings that make the page again."""

from haarbor.report import report_html
from tests.report.reading import page_data


def test_commands_and_settings_make_the_page_again(text, page):
    about = page_data(page)["about"]
    assert about["commands"] == [
        "haarbor organize text.zarr --iterations 1",
        "haarbor report text.zarr",
    ]
    assert about["versions"]["plotly"]
    settings = page_data(page)["runs"][0]["settings"]
    assert settings["organised"]["n_iterations"] == "1"
    assert settings["scored"] == {"functions per head": 400, "functions of the network": 100}
    more = report_html([text, text], n_batches=2, content="probabilities")
    assert page_data(more)["about"]["commands"][-1] == ("haarbor report text.zarr text.zarr --batches 2")
