"""Without the extra for models, what needs one says so in one line; everything else goes on."""

import subprocess
import sys

import pytest

from haarbor.errors import CaptureError
from haarbor.needed_packages import needed_package

PROGRAM = """
import sys
sys.modules[{package!r}] = None  # an import of it fails as that of a package that is not there
import numpy as np
import haarbor as hb
import haarbor.cli
hb.organize(np.random.default_rng(0).random((4, 5, 3)))
try:
    {call}
except hb.HaarborError as error:
    print(error)
"""
CALLS = {
    "ablate": "hb.ablate(None, [])",
    "load_pruned": "hb.load_pruned('folder')",
    "capture": "hb.capture(None, None, 'run')",
    "zoo": "import haarbor.zoo",
    "command": "sys.argv[1:] = 'prune zoo:vision-transformer --data zoo'.split(); hb.cli.main()",
}


@pytest.mark.parametrize(
    ("package", "call"),
    [("torch", "command")]
    + [pytest.param("torch", name, marks=pytest.mark.slow) for name in CALLS if name != "command"]
    + [
        pytest.param("safetensors", name, marks=pytest.mark.slow)
        for name in ("load_pruned", "zoo", "command")
    ],
)
def test_a_missing_package_is_one_line_that_names_the_extra(package, call):
    program = PROGRAM.format(package=package, call=CALLS[call])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    found = f"a model needs {package}, which is not installed. Run pip install 'haarbor[models]'.\n"
    told = (done.stdout + done.stderr).removeprefix("Loading zoo:vision-transformer ...\n")
    assert told.removeprefix("haarbor: ") == found


def test_a_package_that_is_broken_says_why(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("raise OSError('libcudart.so: no such file')")
    (tmp_path / "needy_package.py").write_text("import no_such_package_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        CaptureError, match=r"installed and cannot be imported \(libcudart.so: no such file\)"
    ):
        needed_package("broken_package", "a model")
    with pytest.raises(CaptureError, match="cannot be imported without no_such_package_at_all"):
        needed_package("needy_package", "a model")
