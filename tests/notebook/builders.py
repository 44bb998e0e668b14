"""A hostile text, and the picture inside some HTML."""

import base64
import io
import re

import numpy as np
from PIL import Image

HOSTILE = "<img src=x onerror=alert(1)>"


def pixels_of(html):
    data = re.search(r'src="data:image/png;base64,([^"]+)"', html)[1]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))
