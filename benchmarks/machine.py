"""The machine a benchmark ran on, in one line."""

import os
import platform
from importlib.metadata import version
from pathlib import Path


def machine_line():
    """Processor, cores and the versions that matter."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = ", ".join(f"{name} {version(name)}" for name in ("haarbor", "numpy", "scipy", "numba"))
    return f"{model}, {cores} cores, Python {platform.python_version()}, {versions}"
