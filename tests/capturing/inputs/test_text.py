import gzip
import lzma

import numpy as np
import pytest
import torch

import haarbor.capturing.inputs._text as text_module
from haarbor.capturing.inputs import model_inputs, text_samples
from haarbor.capturing.inputs._text import text_pieces_samples
from haarbor.errors import CaptureError, SettingError
from tests.capturing.inputs.builders import TAKES, assert_one_line, flipped
from tests.capturing.inputs.small_models import small_model, word_tokenizer


def ids_of(samples):
    return [sample.inputs["input_ids"][0].tolist() for sample in samples]


def test_a_whole_text_is_cut_into_consecutive_windows(story):
    samples = text_samples(story, word_tokenizer(), n_tokens=4, takes=TAKES)
    assert ids_of(samples) == [[4, 5, 6, 7], [4, 8, 4, 9]]
    assert samples[1].labels == ("the", "mat", "the", "dog")
    assert samples[1].valid.all()
    assert samples[1].inputs["attention_mask"].tolist() == [[1, 1, 1, 1]]
    assert samples.description == "story.txt, consecutive windows of 4 tokens"


def test_each_window_has_the_special_tokens_of_the_tokenizer(story):
    framed = word_tokenizer(framed=True)
    samples = text_samples(story, framed, n_tokens=5, takes=TAKES)
    assert ids_of(samples) == [[2, 4, 5, 6, 3], [2, 7, 4, 8, 3], [2, 4, 9, 10, 3]]
    assert samples[0].labels[0] == "[CLS]"
    plain = text_samples(story, framed, n_tokens=5, takes=TAKES, special_tokens=False)
    assert ids_of(plain) == [[4, 5, 6, 7, 4], [8, 4, 9, 10, 11]]


def test_lines_are_documents_padded_at_the_end(story):
    tokenizer = word_tokenizer(framed=True, pad_token="[PAD]", padding_side="left")
    samples = text_samples(story, tokenizer, n_tokens=6, takes=TAKES, split="lines")
    assert ids_of(samples) == [[2, 4, 5, 6, 3, 0], [2, 7, 4, 8, 3, 0], [2, 4, 9, 10, 11, 3]]
    assert samples[0].valid.tolist() == [True] * 5 + [False]
    assert samples[0].inputs["attention_mask"].tolist() == [[1, 1, 1, 1, 1, 0]]
    assert samples.description == "story.txt, one document a line, cut or padded to 6 tokens with [PAD]"


def test_long_documents_are_cut_inside_their_special_tokens(story):
    tokenizer = word_tokenizer(framed=True, pad_token="[PAD]")
    samples = text_samples(story, tokenizer, n_tokens=4, takes=TAKES, split="lines")
    assert ids_of(samples)[2] == [2, 4, 9, 3]


def test_the_end_token_pads_where_there_is_no_other_and_the_description_says_so(story):
    samples = text_samples(story, word_tokenizer(eos_token="far"), n_tokens=4, takes=TAKES, split="lines")
    assert ids_of(samples)[0] == [4, 5, 6, 11]
    assert samples[0].valid.tolist() == [True, True, True, False]
    assert "padded to 4 tokens with far (the end token: the tokenizer has none" in samples.description


def test_a_tokenizer_that_cannot_pad_is_refused_for_lines(story):
    with pytest.raises(CaptureError, match=r"neither a pad token nor an end token. Set tokenizer.pad_token"):
        text_samples(story, word_tokenizer(), n_tokens=4, takes=TAKES, split="lines")


@pytest.mark.parametrize(("suffix", "opener"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_compressed_text_is_the_same_text(story, tmp_path, suffix, opener):
    packed = tmp_path / f"story.txt{suffix}"
    with opener(packed, "wb") as file:
        file.write(story.read_bytes())
    tokenizer = word_tokenizer()
    assert ids_of(text_samples(packed, tokenizer, n_tokens=3, takes=TAKES)) == ids_of(
        text_samples(story, tokenizer, n_tokens=3, takes=TAKES)
    )


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "marked.txt"
    path.write_text("the cat", encoding="utf-8-sig")
    assert ids_of(text_samples(path, word_tokenizer(), n_tokens=2, takes=TAKES)) == [[4, 5]]


def test_only_the_first_samples_are_taken(story):
    assert len(text_samples(story, word_tokenizer(), n_tokens=2, takes=TAKES, n_samples=3)) == 3
    lines = word_tokenizer(pad_token="[PAD]")
    assert len(text_samples(story, lines, n_tokens=2, takes=TAKES, n_samples=2, split="lines")) == 2


def test_reading_a_part_of_a_long_text_gives_the_windows_of_the_whole(tmp_path, monkeypatch, rng):
    path = tmp_path / "long.txt"
    path.write_text("\n".join(" ".join(rng.choice(["the", "cat", "sat"], 9)) for _ in range(400)))
    tokenizer = word_tokenizer()
    whole = ids_of(text_samples(path, tokenizer, n_tokens=8, takes=TAKES))
    monkeypatch.setattr(text_module, "_FIRST_CHARACTERS", 100)
    monkeypatch.setattr(text_module, "_CHARACTERS_PER_TOKEN", 1)
    part = text_samples(path, tokenizer, n_tokens=8, takes=TAKES, n_samples=50)
    assert part._ids.size < 3600
    assert ids_of(part) == whole[:50]


@pytest.mark.parametrize("kind", ["GPT2LMHeadModel", "BertModel", "RobertaModel", "T5Model", "BartModel"])
def test_padding_does_not_change_what_a_model_computes_of_real_tokens(story, kind):
    model = small_model(kind)
    takes = model_inputs(model)
    tokenizer = word_tokenizer(pad_token="[PAD]")
    outputs = []
    for n_tokens in (3, 7):
        sample = text_samples(story, tokenizer, n_tokens=n_tokens, takes=takes, split="lines")[0]
        with torch.no_grad():
            outputs.append(model(**sample.inputs)[0][0, :3].numpy())
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=0, atol=1e-5 * np.abs(outputs[0]).max())


def test_more_tokens_than_the_model_has_positions_for_are_refused(story):
    with pytest.raises(CaptureError, match="9 tokens were asked for; the model has positions for 8"):
        text_samples(story, word_tokenizer(), n_tokens=9, takes=TAKES)


def test_more_samples_than_the_text_has_are_refused(story):
    with pytest.raises(CaptureError, match=r"story.txt holds 2 windows of 4 tokens. Ask for at most 2"):
        text_samples(story, word_tokenizer(), n_tokens=4, takes=TAKES, n_samples=3)


@pytest.mark.parametrize("split", ["whole", "lines"])
@pytest.mark.parametrize("content", ["", "\n \n\n"])
def test_an_empty_text_is_refused(tmp_path, split, content):
    path = tmp_path / "empty.txt"
    path.write_text(content)
    with pytest.raises(CaptureError, match=r"empty.txt must hold text; it is empty"):
        text_samples(path, word_tokenizer(pad_token="[PAD]"), n_tokens=4, takes=TAKES, split=split)


def test_a_text_shorter_than_a_window_is_refused(tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("the cat")
    with pytest.raises(CaptureError, match=r"must fill a window of 4 tokens; it has 2. Ask for fewer tokens"):
        text_samples(path, word_tokenizer(), n_tokens=4, takes=TAKES)


def test_other_encodings_are_refused(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("caf\xe9 the cat".encode("latin-1"))
    with pytest.raises(CaptureError, match=r"latin.txt must be UTF-8 text; byte 3 \(line 1\) is 0xe9"):
        text_samples(path, word_tokenizer(), n_tokens=2, takes=TAKES)


@pytest.mark.parametrize("name", ["broken.txt.gz", "broken.txt.xz"])
def test_a_damaged_archive_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"not an archive")
    with pytest.raises(CaptureError, match=f"{name} could not be read"):
        text_samples(tmp_path / name, word_tokenizer(), n_tokens=2, takes=TAKES)


def test_an_archive_that_stops_short_is_refused(tmp_path):
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(gzip.compress(b"the cat " * 1000)[:-12])
    with pytest.raises(CaptureError, match=r"cut.txt.gz could not be read"):
        text_samples(path, word_tokenizer(), n_tokens=2, takes=TAKES)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(CaptureError, match=r"no.txt must be a text file; there is no such file"):
        text_samples(tmp_path / "no.txt", word_tokenizer(), n_tokens=2, takes=TAKES)


def test_a_window_that_special_tokens_fill_is_refused(story):
    with pytest.raises(CaptureError, match=r"puts 2 special tokens around a text. Ask for at least 3"):
        text_samples(story, word_tokenizer(framed=True), n_tokens=2, takes=TAKES)


def test_settings_that_are_not_offered_are_refused(story):
    with pytest.raises(SettingError, match="split must be 'whole' or 'lines'; found 'words'"):
        text_samples(story, word_tokenizer(), n_tokens=2, takes=TAKES, split="words")
    with pytest.raises(SettingError, match="number of tokens must be at least 1; found 0"):
        text_samples(story, word_tokenizer(), n_tokens=0, takes=TAKES)
    with pytest.raises(SettingError, match="number of batches must be at least 1; found 0"):
        text_samples(story, word_tokenizer(), n_tokens=2, takes=TAKES, n_samples=0)


def gzipped(data):
    """Without the time: the names of tests must be the same in every process."""
    return gzip.compress(data, mtime=0)


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
