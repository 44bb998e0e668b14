"""The command that a run keeps."""

import pytest

from haarbor.cli._capture_line import capture_line


def test_paths_are_shortened_to_names_and_flags_are_words(tmp_path):
    (tmp_path / "my net").mkdir()
    found = capture_line(
        str(tmp_path / "my net"), str(tmp_path / "book.txt"), str(tmp_path / "run.zarr"),
        {"--logits": True, "--lines": False, "--gguf": None, "--batches": 0},
    )  # fmt: skip
    assert found == "haarbor capture 'my net' --data book.txt --out run.zarr --logits --batches 0"
    assert str(tmp_path) not in found


@pytest.mark.parametrize("data", ["random", "zoo", "hub:wikitext:wikitext-2-raw-v1:test"])
def test_names_that_are_no_paths_stay_whole(data):
    assert f"capture org/model --data {data} --out r" in capture_line("org/model", data, "a/r", {})
