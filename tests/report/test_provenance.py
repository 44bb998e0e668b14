"""Settings and versions of what made the page."""

from tests.report.reading import page_data


def test_settings_and_versions_say_what_made_the_page(page):
    assert page_data(page)["about"]["versions"]["plotly"]
    settings = page_data(page)["runs"][0]["settings"]
    assert settings["organised"]["n_iterations"] == "1"
    assert settings["scored"] == {"functions per head": 400, "functions of the network": 100}
