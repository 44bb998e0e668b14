"""What holds for the commands as a whole: version and wrong usage."""

import haarbor as hb


def test_version_is_that_of_the_package(command):
    done = command("--version")
    assert done.out.strip() == f"haarbor {hb.__version__}"


def test_wrong_usage_is_exit_code_2(command):
    assert command("demo", "--tokens", "many").code == 2
