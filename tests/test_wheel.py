"""The package as it is installed: from a wheel, in an environment that holds nothing else."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"

pytestmark = pytest.mark.slow


def done(*words, **options):
    # What is installed is tried, not what lies in the folder of the sources.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, env=environment, **options
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    done(sys.executable, "-m", "build", "--quiet", "--outdir", folder, ROOT)
    done(sys.executable, "-m", "twine", "check", "--strict", *folder.iterdir())
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Python of an environment with the wheel in it, and a function that adds extras."""
    folder = tmp_path_factory.mktemp("environment")
    done(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"

    def install(extras=""):
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", CONSTRAINTS)
        done(*pip, f"{wheel}{extras}")
        done(python, "-m", "pip", "check")
        return python

    return install


def metadata(wheel):
    with zipfile.ZipFile(wheel) as files:
        name = next(name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        return files.read(name).decode()


def test_the_page_of_the_package_shows_its_pictures_and_says_where_it_lives(wheel):
    text = metadata(wheel)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert any(link.endswith(".png") for link in links)
    for field in (
        "Project-URL: Homepage",
        "Author: The Haarbor developers",
        "License-Expression: BSD-3-Clause",
    ):
        assert f"\n{field}" in text
    extras = set(re.findall(r"\nProvides-Extra: (.+)", text))
    assert {"all", "cluster", "models", "remote", "report", "timm"} <= extras


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    np.save(folder / "X.npy", np.random.default_rng(0).random((12, 10, 6)).astype(np.float32))
    return folder


def test_the_wheel_alone_organises_an_array(installed, folder):
    code = (
        "import numpy as np, haarbor as hb, sys\n"
        "org = hb.organize(np.load('X.npy'))\n"
        "assert not {'torch', 'transformers', 'matplotlib'} & set(sys.modules)\n"
        "print(hb.__file__, org.trees['head'].n_items)\n"
    )
    python = installed()
    file, count = done(python, "-c", code, cwd=folder).split()
    assert Path(file).is_relative_to(python.parents[1])
    assert count == "6"
    assert "haarbor" in done(python.with_name("haarbor"), "--help", cwd=folder)


@pytest.mark.skipif(
    not os.environ.get("HAARBOR_TEST_EXTRAS"),
    reason="installs PyTorch once more, which takes minutes; set HAARBOR_TEST_EXTRAS=1, as make wheel does",
)
def test_with_its_extras_it_runs_the_demo(installed, folder):
    python = installed("[models,report]")
    told = done(python.with_name("haarbor"), "demo", cwd=folder)
    assert "report.html" in told
    assert (folder / "demo-output" / "report.html").stat().st_size > 100_000
