import numpy as np

from haarbor.paper._inch_page import InchPage


def test_panels_and_texts_stand_where_they_are_put_in_inches_from_the_upper_left():
    page = InchPage(4.0)
    panel = page.panel(0.72, 1.0, 3.6, 2.0)
    np.testing.assert_allclose(panel.get_position().bounds, (0.1, 0.25, 0.5, 0.5))
    page.text("a $ sign", 1.8, 1.0)
    (text,) = page.figure.texts
    np.testing.assert_allclose(text.get_position(), (0.25, 0.75))
    assert (text.get_text(), text.get_va()) == (r"a \$ sign", "top")
    assert page.figure.get_size_inches().tolist() == [7.2, 4.0]
