import numpy as np

from haarbor.notebook import matrix_picture
from tests.notebook.builders import pixels_of


def test_a_matrix_is_a_picture_from_dark_to_bright():
    html = matrix_picture([[0.0, 0.5, 1.0], [1.0, 0.0, 0.0]], "three by two", side=50)
    pixels = pixels_of(html)
    assert pixels.shape == (2, 3, 3)
    assert pixels[0, 0].tolist() == pixels[1, 1].tolist() == [68, 1, 84]
    assert pixels[0, 2].tolist() == [253, 231, 37]
    # Half way between the fourth and the fifth of the eight colours.
    assert pixels[0, 1].tolist() == [35, 144, 138]
    assert 'width="75" height="50"' in html


def test_a_constant_matrix_is_one_dark_colour():
    assert np.unique(pixels_of(matrix_picture(np.ones((2, 2)), "flat"))).tolist() == [1, 68, 84]
