"""The package as it is installed: from a wheel, in an environment that holds nothing else."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.installed_wheel import ROOT, done, empty_environment, install, metadata

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    done(sys.executable, "-m", "build", "--quiet", "--outdir", folder, ROOT)
    done(sys.executable, "-m", "twine", "check", "--strict", *folder.iterdir())
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Python of an environment with the wheel in it, and what the wheel alone asks for."""
    python = empty_environment(tmp_path_factory.mktemp("environment"))
    install(wheel, (), python)
    return python


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


def test_the_wheel_alone_organises_an_array(python, folder):
    code = (
        "import numpy as np, haarbor as hb, sys\n"
        "org = hb.organize(np.load('X.npy'))\n"
        "assert not {'torch', 'transformers', 'matplotlib'} & set(sys.modules)\n"
        "print(hb.__file__, org.trees['head'].n_items)\n"
    )
    file, count = done(python, "-c", code, cwd=folder).split()
    assert Path(file).is_relative_to(python.parents[1])
    assert count == "6"
    assert "haarbor" in done(python.with_name("haarbor"), "--help", cwd=folder)
