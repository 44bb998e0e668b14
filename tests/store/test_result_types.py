import dataclasses
import importlib
import subprocess
import sys

import numpy as np
import pytest

from haarbor import organize
from haarbor.datasets import synthetic_network
from haarbor.errors import StoreError
from haarbor.store import import_arrays, save_results_file
from haarbor.store._result_types import RESULT_MODULES, result_type_named
from haarbor.stored_result import registered_types

ROOMS = sorted(set(RESULT_MODULES.values()))


def sample(name, folder):
    """A result of a kind; where its class allows that, with nothing in the fields that must be given."""
    cls = result_type_named(name).cls
    if name == "PaperResults":
        from haarbor.paper import paper_results

        return paper_results(
            import_arrays(synthetic_network(8, 1, 3).tensor, folder / "run"), control_seeds=0
        )
    if name == "QuestionnaireSettings":
        return organize(np.eye(4), n_iterations=1).settings
    required = [
        field.name
        for field in dataclasses.fields(cls)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    return cls(**dict.fromkeys(required))


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_every_kind_of_result_is_read_in_a_process_that_imported_nothing_else(room, tmp_path):
    names = [name for name in RESULT_MODULES if RESULT_MODULES[name] == room]
    file = tmp_path / "results.npz"
    save_results_file([sample(name, tmp_path) for name in names], file)
    code = (
        "import sys; from haarbor.store import load_results_file; "
        "print(*[type(one).__name__ for one in load_results_file(sys.argv[1])])"
    )
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == names


@pytest.mark.parametrize("name", RESULT_MODULES)
def test_the_room_of_a_result_offers_the_class_that_is_registered(name):
    room = importlib.import_module(RESULT_MODULES[name])
    cls = getattr(room, name)
    assert cls.__module__.startswith(f"{RESULT_MODULES[name]}._")
    assert registered_types()[name].cls is cls
    # What any earlier version wrote can still be read.
    assert set(registered_types()[name].upgrades) == set(range(1, registered_types()[name].version))


def test_every_registered_class_of_haarbor_can_be_found_by_name():
    for room in ROOMS:
        importlib.import_module(room)
    of_haarbor = {
        name for name, known in registered_types().items() if known.cls.__module__.startswith("haarbor.")
    }
    assert {name for name in of_haarbor if not name.startswith("docs-example")} == set(RESULT_MODULES)


def test_a_name_that_no_class_has_is_refused_in_one_line():
    with pytest.raises(StoreError) as refused:
        result_type_named("Mystery\n" * 100)
    assert len(str(refused.value).splitlines()) == 1
    assert str(refused.value).startswith(
        r"a stored result must be of a type this Haarbor knows; found 'Mystery\n"
    )
    assert str(refused.value).endswith("Install a newer one, or import the module that registers it.")


def test_a_room_that_needs_a_package_which_is_missing_says_so(tmp_path):
    file = tmp_path / "results.npz"
    save_results_file(sample("SoftmaxExample", tmp_path), file)
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from haarbor.errors import StoreError; from haarbor.store import load_results_file\n"
        "try: load_results_file(sys.argv[1])\nexcept StoreError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True)
    assert done.stdout.startswith(
        f"{file}: a stored SoftmaxExample cannot be read here: figures need the matplotlib"
    )
    assert "pip install 'haarbor[report]'" in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_a_module_that_does_not_define_the_class_is_told(monkeypatch):
    monkeypatch.setattr("haarbor.stored_result._BY_NAME", {})
    with pytest.raises(StoreError, match="of a type this Haarbor knows; found 'HeadEntropy'"):
        result_type_named("HeadEntropy")
