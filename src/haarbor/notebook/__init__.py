"""How results show themselves in a notebook: facts and small pictures, as HTML without scripts."""

from haarbor.notebook._facts_html import facts_html
from haarbor.notebook._matrix_picture import matrix_picture

__all__ = [
    "facts_html",
    "matrix_picture",
]
