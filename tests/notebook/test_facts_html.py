from haarbor.notebook import facts_html, matrix_picture
from tests.notebook.builders import HOSTILE


def test_texts_are_escaped_and_pictures_are_not():
    html = facts_html(HOSTILE, {HOSTILE: HOSTILE}, [(HOSTILE, matrix_picture([[1.0]], HOSTILE))])
    assert html.count("<img") == 1
    assert HOSTILE not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") == 5
