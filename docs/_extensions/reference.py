"""The reference: a page per room of the package with every name it exports, written before the build."""

import importlib
import inspect
from pathlib import Path

# In the order of the method. Rooms that only serve others inside the package come last.
ROOMS = {
    "capturing": "Capturing attention",
    "capturing.inputs": "Inputs of models",
    "store": "Runs on disk",
    "questionnaire": "Organising a tensor",
    "trees": "Trees",
    "spectral": "Affinities and diffusion maps",
    "transport": "Distances on trees",
    "wavelets": "Haar functions and entropies",
    "paraproducts": "Paraproducts and the softmax",
    "analysis": "Whole runs",
    "diagnostics": "What heads do",
    "pruning": "Ablation and pruning",
    "collapse": "Rank collapse",
    "compare": "Comparison of networks",
    "plots": "Figures",
    "report": "The page",
    "paper": "The paper's figures and tables",
    "notebook": "In a notebook",
    "zoo": "Embedded networks",
    "datasets": "Synthetic data",
    "testing": "Strategies for tests",
    "engines": "Engines: CPU, GPU, cluster",
    "errors": "Errors and warnings",
}


def documented_names():
    """Full name of every object of the reference, by room."""
    import haarbor

    found = {}
    front = {name for name in haarbor.__all__ if name not in ("__version__", "datasets")}
    for room in ROOMS:
        module = importlib.import_module(f"haarbor.{room}")
        outer = importlib.import_module(module.__name__.rpartition(".")[0])
        # What a room passes on from a room inside it is on its own page.
        passed_on = set(outer.__all__) - front if "." in room else set()
        names = sorted(set(module.__all__) - passed_on, key=lambda name: (name not in front, name.lower()))
        found[room] = [f"haarbor.{name}" if name in front else f"haarbor.{room}.{name}" for name in names]
    return found


def room_page(room, names):
    """Text of the page of a room."""
    module = importlib.import_module(f"haarbor.{room}")
    title = ROOMS[room]
    lines = [title, "=" * len(title), "", f"``haarbor.{room}``", "", inspect.getdoc(module) or "", ""]
    lines += [".. autosummary::", "   :nosignatures:", ""]
    lines += [f"   ~{name}" for name in names]
    for name in names:
        lines += ["", *_entry(name)]
    return "\n".join(lines) + "\n"


def _entry(name):
    module, _, attribute = name.rpartition(".")
    value = getattr(importlib.import_module(module), attribute)
    if inspect.isclass(value):
        kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
        return [f".. {kind}:: {name}", "   :members:", "   :show-inheritance:"]
    if callable(value) and not isinstance(value, type) and hasattr(value, "__code__"):
        return [f".. autofunction:: {name}"]
    return [f".. autodata:: {name}", "   :no-value:"]


def _write(app, _config=None):
    folder = Path(app.srcdir) / "api"
    for room, names in documented_names().items():
        text = room_page(room, names)
        place = folder / f"{room}.rst"
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")


def setup(app):
    """Write the pages before Sphinx looks for them."""
    app.connect("config-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
