"""The package as it is installed: from a wheel, in an environment that holds nothing else."""

import importlib.metadata
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

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


def asked_for(lines, extras):
    """Names of the distributions that requirements bring with them, and those that these bring."""
    found = {}

    def follow(lines, extras):
        for needed in map(Requirement, lines):
            if needed.marker is not None and not any(
                needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)
            ):
                continue
            name = canonicalize_name(needed.name)
            if name not in found or needed.extras - found[name]:
                found.setdefault(name, set()).update(needed.extras)
                follow(importlib.metadata.requires(name) or (), found[name])

    follow(lines, extras)
    return set(found)


def link_distribution(name, site_packages):
    """Lend an environment a distribution of this one, so that it need not be downloaded again."""
    distribution = importlib.metadata.distribution(name)
    for top in {Path(file).parts[0] for file in distribution.files if Path(file).parts[0] != ".."}:
        if top != "__pycache__" and not (site_packages / top).exists():
            (site_packages / top).symlink_to(distribution.locate_file(top))


def install(wheel, extras, python):
    """Install the wheel into an environment, with what it asks for and nothing else."""
    site_packages = next((python.parents[1] / "lib").glob("python*/site-packages"))
    lines = [
        line.removeprefix("Requires-Dist: ")
        for line in metadata(wheel).split("\n\n")[0].splitlines()
        if line.startswith("Requires-Dist: ")
    ]
    for name in asked_for(lines, extras):
        link_distribution(name, site_packages)
    # Where anything were missing, pip would have to ask an index.
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    asked = f"[{','.join(extras)}]" if extras else ""
    done(*pip, "install", "--quiet", "--no-index", f"{wheel}{asked}")
    done(*pip, "check")
    return site_packages


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Python of an environment with the wheel in it, and what the wheel alone asks for."""
    folder = tmp_path_factory.mktemp("environment")
    done(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    install(wheel, (), python)
    return python


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


def test_with_its_extras_it_runs_the_demo(python, wheel, folder):
    site_packages = install(wheel, ("models", "report"), python)
    assert not (site_packages / "pytest").exists()
    told = done(python.with_name("haarbor"), "demo", "--tokens", 24, "--batches", 1, cwd=folder)
    assert "report.html" in told
    assert (folder / "demo-output" / "report.html").stat().st_size > 100_000
