import subprocess
import sys


def test_without_hypothesis_the_kit_says_what_to_install():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import haarbor\n"
        "try:\n    import haarbor.testing\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "haarbor.testing needs the hypothesis package; install it with pip install hypothesis."
    ]
