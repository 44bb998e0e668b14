"""The package as others get it: a wheel, installed into an environment that holds nothing else."""

import importlib.metadata
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def done(*words, **options):
    """Output of a command, which must succeed."""
    # What is installed is tried, not what lies in the folder of the sources.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, env=environment, **options
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def built_wheel(folder):
    """Wheel of this tree, in a folder that is empty."""
    done(sys.executable, "-m", "build", "--quiet", "--wheel", "--outdir", folder, ROOT)
    return next(folder.glob("*.whl"))


def empty_environment(folder):
    """Python of an environment without a single package."""
    done(sys.executable, "-m", "venv", "--without-pip", folder)
    return folder / "bin" / "python"


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


def metadata(wheel):
    with zipfile.ZipFile(wheel) as files:
        name = next(name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        return files.read(name).decode()
