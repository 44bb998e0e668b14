"""Files and values from anywhere: damaged, hostile or of another kind, each is one line."""

import gzip
import io
import lzma
import struct
import zipfile
import zlib

import numpy as np
import pytest
import torch
from PIL import Image, PngImagePlugin

from haarbor.capturing import load_model
from haarbor.capturing.inputs import (
    ImageSettings,
    TokenInputs,
    dataset_samples,
    image_samples,
    named_samples,
    random_samples,
    text_samples,
    token_id_samples,
)
from haarbor.capturing.inputs._text import text_pieces_samples
from haarbor.errors import CaptureError, DataError, HaarborError
from haarbor.zoo import embedded_network
from tests.capturing.inputs.small_models import word_tokenizer

TAKES = TokenInputs(vocab_size=12, max_tokens=8)
SMALL = ImageSettings(
    input_name="pixel_values", size=(8, 8), patch_size=(4, 4), resize_to=(8, 8), mean=(0.5,) * 3,
    std=(0.5,) * 3, source="by hand",
)  # fmt: skip
SHORTER_EDGE = ImageSettings(
    input_name="pixel_values", size=(64, 64), patch_size=(16, 16), resize_to=80, mean=(0.5,) * 3,
    std=(0.5,) * 3, source="by hand",
)  # fmt: skip


def assert_one_line(error):
    said = str(error)
    assert "\n" not in said
    assert len(said) < 500


def gzipped(data):
    """Without the time: the names of tests must be the same in every process."""
    return gzip.compress(data, mtime=0)


def flipped(data, place):
    changed = bytearray(data)
    changed[place] ^= 0xFF
    return bytes(changed)


def read_text(folder, name, content, **options):
    (folder / name).write_bytes(content)
    return text_samples(folder / name, word_tokenizer(pad_token="[PAD]"), n_tokens=2, takes=TAKES, **options)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "a.txt must hold text; it is empty"),
        ("a.txt", b" \n\n", "a.txt must hold text; it is empty"),
        ("a.txt", b"\xef\xbb\xbf", "a.txt must hold text; it is empty"),
        ("a.txt", b"the cat\nsat caf\xe9", r"byte 15 \(line 2\) is 0xe9, .* iconv -f LATIN1 -t UTF-8"),
        ("a.txt", b"the cat sat \n" * 9000 + b"\xff", r"byte 117000 \(line 9001\) is 0xff"),
        ("a.txt", "the cat".encode("utf-16"), r"byte 0 \(line 1\) is 0x.*iconv -f UTF-16 -t UTF-8"),
        ("a.txt", b"the cat \xed\xa0\x80", r"byte 8 \(line 1\) is 0xed"),
        ("a.txt", b"the cat \xe2\x82", r"byte 8 \(line 1\) is 0xe2, which is not \(unexpected end of data\)"),
        ("a.txt.gz", gzipped(b"the caf\xe9"), r"byte 7 \(line 1\) is 0xe9"),
        ("a.txt.gz", flipped(gzipped(bytes(range(1, 127)) * 50), 60), "a.txt.gz could not be read: "),
        ("a.txt.gz", flipped(gzipped(b"the cat " * 900), -6), "a.txt.gz could not be read: CRC"),
        ("a.txt.xz", flipped(lzma.compress(b"the cat " * 900), 30), "a.txt.xz could not be read: "),
    ],
)  # fmt: skip
def test_text_that_is_none_is_one_line(tmp_path, name, content, message):
    with pytest.raises(CaptureError, match=message) as found:
        read_text(tmp_path, name, content)
    assert_one_line(found.value)


def test_lines_that_are_no_text_are_one_line(tmp_path):
    with pytest.raises(CaptureError, match=r"byte 11 \(line 2\) is 0xff"):
        read_text(tmp_path, "a.txt", b"the cat\nsat\xff\n", split="lines")


def test_a_nul_is_a_letter_like_others(tmp_path):
    samples = read_text(tmp_path, "a.txt", b"the cat\0sat on")
    assert [sample.labels for sample in samples] == [("the", "cat"), ("[UNK]", "sat")]


def test_a_compressed_file_of_one_endless_line_is_read_no_further_than_needed(tmp_path, monkeypatch):
    import haarbor.capturing.inputs._text as module

    monkeypatch.setattr(module, "_FIRST_CHARACTERS", 64)
    pieces = []
    original = module._stream
    monkeypatch.setattr(
        module,
        "_stream",
        lambda found, *rest: original((pieces.append(piece) or piece for piece in found), *rest),
    )
    assert len(read_text(tmp_path, "a.txt.gz", gzipped(b"the cat " * 100_000), n_samples=1)) == 1
    assert sum(map(len, pieces)) < 2000


@pytest.mark.parametrize(
    "pieces", [["the \ud800 cat"], [b"the cat"], [5]], ids=["surrogate", "bytes", "number"]
)
def test_pieces_that_are_no_text_are_one_line(pieces):
    with pytest.raises(CaptureError) as found:
        text_pieces_samples(pieces, "the web", word_tokenizer(), n_tokens=2, takes=TAKES)
    assert_one_line(found.value)


def png(image, **options):
    written = io.BytesIO()
    image.save(written, "PNG", **options)
    return written.getvalue()


def promised_png(width, height):
    """A file that says it is an image of that size, and holds next to nothing."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(99)))
        + chunk(b"IEND", b"")
    )


def long_text_png():
    notes = PngImagePlugin.PngInfo()
    notes.add_text("note", "x" * 5_000_000, zip=True)
    return png(Image.new("RGB", (8, 8)), pnginfo=notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.png must be an image; it could not be read: cannot identify"),
        (b"junk" * 99, "a.png must be an image; it could not be read: cannot identify"),
        (png(Image.effect_noise((64, 64), 50))[:-400], "a.png must be an image; .* truncated"),
        (promised_png(60_000, 60_000), "a.png must be an image; .* exceeds limit"),
        (promised_png(2**31 - 1, 2**31 - 1), "a.png must be an image; .* exceeds limit"),
        (promised_png(10_000, 10_000), "a.png must be an image; .* truncated"),
        (promised_png(0, 5), "a.png must be an image"),
        (long_text_png(), "a.png must be an image; .* too large"),
    ],
    ids=["empty", "junk", "cut", "bomb", "largest", "large", "nothing", "long text"],
)  # fmt: skip
def test_images_that_are_none_are_one_line(tmp_path, content, message):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(CaptureError, match=message) as found:
        image_samples(tmp_path, settings=SMALL)[0]
    assert_one_line(found.value)
    assert str(tmp_path) not in str(found.value)


def test_animated_images_are_refused_and_second_views_of_photographs_are_not(tmp_path):
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "a.png", save_all=True, append_images=frames[1:])
    with pytest.raises(DataError, match=r"a.png must be one picture; it is animated"):
        image_samples(tmp_path, settings=SMALL)[0]
    (tmp_path / "a.png").unlink()
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    (tmp_path / "a.gif").rename(tmp_path / "b.png")
    with pytest.raises(DataError, match=r"b.png must be one picture; it is animated"):
        image_samples(tmp_path, settings=SMALL)[0]
    (tmp_path / "b.png").unlink()
    frames[0].save(tmp_path / "c.jpg", "MPO", save_all=True, append_images=frames[1:])
    assert image_samples(tmp_path, settings=SMALL)[0].picture[4, 4, 0] > 200


def test_a_strip_that_would_become_endless_is_refused(tmp_path):
    Image.new("RGB", (60_000, 1)).save(tmp_path / "a.png")
    arrays = (np.zeros((1, 1, 60_000, 3), np.uint8), np.zeros((1, 3, 60_000, 1), np.float32))
    for images in (tmp_path, *arrays):
        with pytest.raises(DataError, match="must not be so narrow; found"):
            image_samples(images, settings=SHORTER_EDGE)[0]


def test_folders_that_may_not_be_read_are_one_line(tmp_path, monkeypatch):
    import pathlib

    def closed(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "iterdir", closed)
    with pytest.raises(CaptureError, match="must be a folder of images that can be read; Permission denied"):
        image_samples(tmp_path, settings=SMALL)


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


STRANGE = [
    None,
    5,
    2.5,
    True,
    "",
    b"x",
    "a\0b",
    "x" * 5000,
    [],
    {},
    object(),
    float("nan"),
    -1,
    10**30,
    "\ud800",
]


@pytest.mark.parametrize("value", STRANGE, ids=lambda value: repr(value)[:12])
def test_values_of_the_wrong_kind_are_one_line(value, tmp_path):
    story = tmp_path / "story.txt"
    story.write_text("the cat sat on the mat")
    tokenizer = word_tokenizer()
    images = np.zeros((1, 8, 8, 3), np.uint8)
    ids = np.ones((2, 4), int)
    calls = {
        "model": lambda: load_model(value),
        "model dtype": lambda: value is not None and load_model("zoo:vision-transformer", dtype=value),
        "device": lambda: load_model("zoo:vision-transformer", device=value),
        "text": lambda: text_samples(value, tokenizer, n_tokens=2, takes=TAKES),
        "tokenizer": lambda: text_samples(story, value, n_tokens=2, takes=TAKES),
        "takes": lambda: text_samples(story, tokenizer, n_tokens=2, takes=value),
        "split": lambda: text_samples(story, tokenizer, n_tokens=2, takes=TAKES, split=value),
        "images": lambda: image_samples(value, settings=SMALL),
        "settings": lambda: image_samples(images, settings=value),
        "ids": lambda: token_id_samples(value, takes=TAKES),
        "random": lambda: random_samples(value, n_samples=1, n_tokens=2),
        "random count": lambda: value == 5 or random_samples(TAKES, n_samples=value, n_tokens=2),
        "named": lambda: named_samples(value, takes=TAKES, tokenizer=tokenizer, n_tokens=2, n_samples=1),
        "named takes": lambda: named_samples("random", takes=value),
        "data set": lambda: dataset_samples(value, takes=TAKES, tokenizer=tokenizer, n_tokens=2, n_samples=1),
        "embedded": lambda: embedded_network(value),
        "padding": lambda: value in (None, 5, -1) or token_id_samples(ids, takes=TAKES, pad_id=value),
    }  # fmt: skip
    for name, call in calls.items():
        try:
            assert call() is True or (name == "model dtype" and value is None), f"{name} took {value!r}"
        except HaarborError as error:
            assert_one_line(error)


def test_bfloat16_and_gradients_are_taken():
    images = torch.full((1, 3, 8, 8), 0.5, dtype=torch.bfloat16, requires_grad=True)
    assert image_samples(images, settings=SMALL)[0].picture[0, 0, 0] == 128


@pytest.mark.parametrize(
    "changes",
    [
        {"patch_size": (0, 4)}, {"patch_size": (16, 16)}, {"size": (10**12, 8)}, {"resize_to": 10**9},
        {"std": (0.0, 1.0, 1.0)}, {"mean": (float("nan"),) * 3}, {"rescale": float("inf")},
    ],
    ids=str,
)  # fmt: skip
def test_settings_of_absurd_images_are_refused(changes):
    import dataclasses

    with pytest.raises(CaptureError) as found:
        dataclasses.replace(SMALL, **changes)
    assert_one_line(found.value)
