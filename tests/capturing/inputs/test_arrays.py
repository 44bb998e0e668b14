"""Arrays on disk and in memory; damaged, hostile or of another kind, each is one line."""

import io
import struct
import zipfile

import numpy as np
import pytest
import torch

from haarbor.capturing.inputs import image_samples, text_samples, token_id_samples
from haarbor.errors import CaptureError
from tests.capturing.inputs.builders import PLAIN, SMALL, TAKES, assert_one_line, flipped
from tests.capturing.inputs.small_models import word_tokenizer


def npy(header, data=b""):
    text = header.encode() + b"   \n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def described(shape, kind="<i8"):
    return npy(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}", bytes(64))


def zipped(name, data):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return written.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.npy", b""),
        ("a.npy", b"junk" * 50),
        ("a.npy", described("(1000000000000, 8)")),
        ("a.npy", described("(-1, 8)")),
        ("a.npy", described("(1, 8)", "|O")),
        ("a.npy", npy("(" * 5000)),
        ("a.npy", npy("__import__('os').abort()")),
        ("a.npz", b"junk" * 50),
        ("a.npz", b"PK\x03\x04" + bytes(50)),
        ("a.npz", zipped("a.npy", described("(1000000000000, 8)"))),
        ("a.npz", flipped(zipped("a.npy", described("(1, 8)")), 60)),
    ],
)
def test_arrays_that_are_none_are_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CaptureError, match=rf"{name} must be an array of numbers as numpy saves it") as found:
        token_id_samples(tmp_path / name, takes=TAKES)
    assert_one_line(found.value)
    assert "allow_pickle" not in str(found.value)


@pytest.mark.parametrize("name", ["a.npy", "a.png", "a.txt"])
def test_a_folder_in_place_of_a_file_is_one_line(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(CaptureError, match="it is a folder"):
        text_samples(tmp_path / name, word_tokenizer(), n_tokens=2, takes=TAKES)
    with pytest.raises(CaptureError, match="it is a folder"):
        token_id_samples(tmp_path / name, takes=TAKES)


def test_bfloat16_and_gradients_are_taken():
    images = torch.full((1, 3, 8, 8), 0.5, dtype=torch.bfloat16, requires_grad=True)
    assert image_samples(images, settings=SMALL)[0].picture[0, 0, 0] == 128


def test_an_archive_of_several_arrays_must_say_which(tmp_path, pixels):
    np.savez(tmp_path / "x.npz", a=pixels, b=pixels)
    with pytest.raises(CaptureError, match="one array, or one called 'images'; found a, b"):
        image_samples(tmp_path / "x.npz", settings=PLAIN)
