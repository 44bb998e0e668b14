"""The version of the package, and of the libraries that a result was made with."""

import numpy as np

import haarbor as hb
from haarbor.version import installed_versions


def test_what_is_not_installed_is_left_out():
    assert installed_versions(["numpy", "no-such-package"]) == {
        "haarbor": hb.__version__,
        "numpy": np.__version__,
    }
