"""What importing the figures loads, and what is said where matplotlib is missing."""

import subprocess
import sys

import haarbor.plots


def test_public_names_are_sorted_and_real():
    assert haarbor.plots.__all__ == sorted(haarbor.plots.__all__)
    for name in haarbor.plots.__all__:
        assert getattr(haarbor.plots, name).__name__ == name


def output_of(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_haarbor_does_not_import_matplotlib_nor_plots_pyplot():
    code = "import sys, haarbor; print('matplotlib' in sys.modules)"
    assert output_of(code) == "False\n"
    assert output_of("import sys, haarbor.plots; print('matplotlib.pyplot' in sys.modules)") == "False\n"


def test_missing_matplotlib_is_one_clear_line():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import haarbor\n"
        "try:\n    import haarbor.plots\n"
        "except haarbor.HaarborError as error:\n    print(error)"
    )
    assert output_of(code) == (
        "figures need the matplotlib package, which is not installed. Run pip install 'haarbor[report]'.\n"
    )
