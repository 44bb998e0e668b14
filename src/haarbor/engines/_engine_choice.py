"""Which engine works: the one asked for, or for "auto" the one that suits the work and the machine."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

from haarbor.engines._cluster import ClusterEngine
from haarbor.engines._cpu import CpuEngine
from haarbor.engines._engine import L1Engine
from haarbor.engines._gpu_engine import GpuEngine
from haarbor.errors import EngineError, EngineWarning, SettingError
from haarbor.options import found_text

__all__ = ["engine_named"]

# Absolute differences that take two cores some seconds. Below that, loading CuPy and waking the device would
# take longer than the work.
_WORTH_A_GPU = 10**11


def engine_named(
    engine: str | L1Engine, *, n_differences: int = 0, n_bytes: int = 0, on_device: bool = False
) -> L1Engine:
    """Engine of a name; an engine object is returned as it is.

    Parameters
    ----------
    engine : {"auto", "cpu", "gpu", "cluster"} or an object with `l1_sums`
    n_differences : int, default 0
        About how many absolute differences are to be summed. "auto" takes a GPU, if there is one, where
        that is worth it.
    n_bytes : int, default 0
        How much the work needs at least of the memory of a GPU.
    on_device : bool, default False
        Whether the data is on a GPU already, so that "auto" means the GPU.

    Raises
    ------
    EngineError
        If the engine cannot run here.
    SettingError
        If there is no such engine.

    Warns
    -----
    EngineWarning
        If "auto" would have taken a GPU, and could not.

    See Also
    --------
    haarbor.CpuEngine : The cores of this machine.
    haarbor.GpuEngine : A CUDA device.
    """
    if not isinstance(engine, str):
        is_object = isinstance(engine, L1Engine) and not isinstance(engine, type)
        if is_object and isinstance(engine.name, str) and callable(engine.l1_sums):
            return engine
        raise SettingError(
            f"an engine object must have a name and an l1_sums method; found {type(engine).__name__}. "
            "Pass engine='auto' or an object like haarbor.CpuEngine()."
        )
    if engine == "gpu" or (engine == "auto" and on_device):
        return GpuEngine()
    if engine == "cpu":
        return CpuEngine()
    if engine == "cluster":
        return ClusterEngine()
    if engine == "auto":
        return _suitable_engine(n_differences, n_bytes)
    raise SettingError(
        f"engine must be 'auto', 'cpu', 'gpu', 'cluster' or an engine object; found {found_text(engine)}. "
        "Pass engine='auto'."
    )


def _suitable_engine(n_differences: int, n_bytes: int) -> L1Engine:
    # CuPy is looked for before it is imported: most machines have none, and the import takes a second.
    if n_differences < _WORTH_A_GPU or find_spec("cupy") is None:
        return CpuEngine()
    try:
        found = GpuEngine()
        found.require_memory(n_bytes, "this work")
    except EngineError as error:
        warnings.warn(f"engine='auto' works on the CPU: {error}", EngineWarning, stacklevel=4)
        return CpuEngine()
    return found
