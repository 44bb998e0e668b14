"""What the layout of the package promises, read from the files themselves."""

import ast
import importlib
import subprocess
import sys
import types
from functools import cache
from pathlib import Path

import pytest

import haarbor

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "haarbor"
MODULES = sorted(PACKAGE.rglob("*.py"))
SUBPACKAGES = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))

# Each layer may import from its own folder and from lower ranks, never sideways or up.
RANK = {
    "version": -1,
    "errors": -1,
    "on_progress": -1,
    "head_labels": 0,
    "printable": -1,
    "memory": 0,
    "options": 0,
    "compilation_notice": -1,
    "compiled": 0,
    "array_types": 0,
    "stored_result": 0,
    "binary_scale": 1,
    "named_axes": 1,
    "whole_file": 2,
    "notebook": 1,
    "named_path": 1,
    "needed_packages": 1,
    "engines": 2,
    "spectral": 3,
    "trees": 4,
    "transport": 5,
    "wavelets": 6,
    "paraproducts": 7,
    "questionnaire": 7,
    "datasets": 8,
    "zoo": 8,
    "testing": 8,
    "store": 9,
    "capturing": 10,
    "analysis": 11,
    "pruning": 12,
    "collapse": 13,
    "diagnostics": 14,
    "compare": 15,
    "__init__": 16,
    "plots": 17,
    "paper": 18,
    "report": 18,
    "cli": 19,
    "__main__": 20,
}
HEAVY = (
    "torch",
    "transformers",
    "timm",
    "matplotlib",
    "plotly",
    "cupy",
    "dask",
    "numba",
    "scipy.stats",
    "zarr",
    "hypothesis",
)


# One test per room and rule: it names every file that breaks the rule.
by_room = pytest.mark.parametrize("room", sorted({path.relative_to(PACKAGE).parts[0] for path in MODULES}))


def modules_of(room):
    return [path for path in MODULES if path.relative_to(PACKAGE).parts[0] == room]


def layer_of(path):
    """First folder below the package, or the module itself."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path):
    """Every module a file imports, wherever in the file, as (name, line)."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno} is a relative import"
            module = node.module
            if module == "haarbor":
                # `from haarbor import x` reaches x, be it a module or a name of the front page.
                names = [alias.name for alias in node.names]
                yield from (
                    (f"haarbor.{name}" if name in RANK else "haarbor.__init__", node.lineno) for name in names
                )
            else:
                yield module, node.lineno


def layers_imported(path):
    for name, line in imports(path):
        parts = name.split(".")
        if parts[0] == "haarbor":
            yield (parts[1] if len(parts) > 1 else "__init__"), line


def test_every_layer_has_a_rank():
    layers = {layer_of(path) for path in MODULES}
    assert layers <= set(RANK), f"give {sorted(layers - set(RANK))} a rank"


@by_room
def test_imports_point_downwards(room):
    upward = [
        f"{path.name} imports {layer} (line {line})"
        for path in modules_of(room)
        for layer, line in layers_imported(path)
        if layer != layer_of(path) and RANK[layer] >= RANK[layer_of(path)]
    ]
    assert not upward, f"imports from their own rank or above: {upward}"


@by_room
def test_rooms_are_entered_by_their_front_doors(room):
    inner = [
        f"{path.name} imports {name} (line {line})"
        for path in modules_of(room)
        for name, line in imports(path)
        if name.startswith("haarbor.")
        and "._" in name.replace(".__", ".")
        and name.split(".")[1] != layer_of(path)
    ]
    assert not inner, f"imports from the inside of another room: {inner}"


@pytest.mark.parametrize("folder", SUBPACKAGES, ids=lambda folder: folder.name)
def test_no_module_is_hidden_by_a_name_of_its_room(folder):
    inside = [path for path in folder.rglob("*.py") if path.stem not in ("__init__", "__main__")]
    assert [path.name for path in inside if not path.name.startswith("_")] == []


def test_no_two_modules_have_the_same_name():
    places = {}
    for path in MODULES:
        if path.stem not in ("__init__", "__main__"):
            places.setdefault(path.stem.strip("_"), []).append(str(path.relative_to(PACKAGE)))
    twins = {name: paths for name, paths in places.items() if len(paths) > 1}
    assert not twins, f"rename one of each so that a name says which module is meant: {twins}"


def test_the_reader_of_imports_sees_what_is_hidden(tmp_path):
    hidden = tmp_path / "hidden.py"
    hidden.write_text(
        "def f():\n    if True:\n        from haarbor.cli import main\n    import haarbor.plots as p\n"
    )
    assert sorted(layers_imported(hidden)) == [("cli", 3), ("plots", 4)]
    hidden = tmp_path / "names.py"
    hidden.write_text("from haarbor import datasets, organize\nimport haarbor\n")
    assert [layer for layer, _ in layers_imported(hidden)] == ["datasets", "__init__", "__init__"]
    hidden = tmp_path / "relative.py"
    hidden.write_text("from . import trees\n")
    with pytest.raises(AssertionError, match="relative import"):
        list(layers_imported(hidden))


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_files_are_short(folder):
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    assert {name: length for name, length in lengths.items() if length > 450} == {}


@by_room
def test_nothing_reads_or_writes_pickles(room):
    for path in modules_of(room):
        roots = {name.split(".")[0] for name, _ in imports(path)}
        pickles = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
        assert not roots & pickles, path


@by_room
def test_only_the_test_kit_imports_hypothesis(room):
    for path in modules_of(room):
        roots = {name.split(".")[0] for name, _ in imports(path)}
        assert "hypothesis" not in roots or layer_of(path) == "testing", path
        assert "pytest" not in roots, path


def exported(path):
    """Public names a module imports or defines at its top, the imported modules left out."""
    module = importlib.import_module(path)
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType) and name != "annotations"
    }


def place_in_all(name):
    """Constants, then classes, then functions, each by the alphabet."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("folder", SUBPACKAGES, ids=lambda folder: folder.name)
def test_subpackages_list_what_they_export(folder):
    module = importlib.import_module(f"haarbor.{folder.name}")
    # Names that are looked up when they are first used are there from then on.
    for name in getattr(module, "_LATE", ()):
        getattr(module, name)
    assert list(module.__all__) == sorted(module.__all__, key=place_in_all)
    assert len(set(module.__all__)) == len(module.__all__)
    assert set(module.__all__) == exported(f"haarbor.{folder.name}") - {"TYPE_CHECKING", "Any"}


def test_the_front_page_lists_what_it_exports():
    names = haarbor.__all__
    assert names == sorted(names)
    late = haarbor._LATE
    listed = set(names) - {"__version__", *late}
    assert {name for name in listed if isinstance(getattr(haarbor, name), types.ModuleType)} <= {"datasets"}
    assert listed - {"datasets"} == exported("haarbor") - set(late) - {"TYPE_CHECKING", "Any"}


def test_late_names_of_the_front_page_are_exported_where_it_says():
    for name, module in haarbor._LATE.items():
        assert name in haarbor.__all__
        text = (PACKAGE / module.split(".")[1] / "__init__.py").read_text(encoding="utf-8")
        assert name in top_level_names(ast.parse(text))
    with pytest.raises(AttributeError, match="module 'haarbor' has no attribute 'captain'"):
        haarbor.captain  # noqa: B018


def top_level_names(tree):
    for node in tree.body:
        if isinstance(node, ast.If | ast.Try):
            # Names for type checkers, or for one of two versions of a library.
            yield from top_level_names(node)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


@by_room
def test_modules_list_names_they_define(room):
    for path in modules_of(room):
        if path.name == "__main__.py":
            continue
        tree = parsed(path)
        lists = [
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        ]
        assert len(lists) == 1, f"{path}: one __all__ per module"
        assert lists[0] == sorted(lists[0], key=place_in_all), path
        assert set(lists[0]) <= set(top_level_names(tree)), path


def test_importing_haarbor_loads_nothing_heavy():
    code = (
        "import sys, haarbor\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
        "print([name for name in ('testing', 'plots', 'cli') if f'haarbor.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "[]"]


def test_organising_with_kernels_from_the_disk_loads_no_more_than_it_uses():
    others = ("numpy.f2py", "numpy.testing", "rich", "scipy.linalg", "scipy.sparse", "typer")
    needless = tuple(name for name in (*HEAVY, *others) if name != "numba")
    code = (
        "import sys, haarbor as hb\n"
        "hb.organize(hb.datasets.synthetic_attention(n_tokens=8, n_layers=1, heads_per_layer=3))\n"
        f"print([name for name in {needless!r} if name in sys.modules])\n"
        # What is needed to compile is still loaded where something has to be compiled.
        "import numba, numpy as np\n"
        "print(numba.njit(lambda x: np.dot(x, x))(np.arange(3.0)))"
    )
    # The first process compiles what has not been compiled before.
    for _attempt in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "5.0"]


def test_reading_a_run_does_not_load_the_compiler():
    code = "import sys, haarbor.store\nprint('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
