import numpy as np
import pytest
import torch

from haarbor.capturing.inputs import token_id_samples
from haarbor.errors import CaptureError, DataError, ShapeError
from tests.capturing.inputs.builders import TAKES
from tests.capturing.inputs.small_models import word_tokenizer

IDS = np.array([[4, 5, 6, 0], [7, 0, 8, 9]])


def test_rows_are_samples_whether_from_a_file_an_array_or_a_tensor(tmp_path):
    np.save(tmp_path / "ids.npy", IDS.astype(np.uint16))
    for ids in (tmp_path / "ids.npy", str(tmp_path / "ids.npy"), IDS, torch.from_numpy(IDS)):
        samples = token_id_samples(ids, takes=TAKES)
        assert len(samples) == 2
        assert samples[1].inputs["input_ids"].tolist() == [[7, 0, 8, 9]]
        assert samples[1].inputs["input_ids"].dtype == torch.int64
        assert samples[1].labels == ("7", "0", "8", "9")
        assert samples[1].valid.all()


def test_a_tokenizer_gives_the_labels():
    samples = token_id_samples(IDS, takes=TAKES, tokenizer=word_tokenizer())
    assert samples[0].labels == ("the", "cat", "sat", "[PAD]")


def test_padding_is_what_ends_a_row_and_not_what_is_inside_it():
    samples = token_id_samples(IDS, takes=TAKES, pad_id=0)
    assert samples[0].valid.tolist() == [True, True, True, False]
    assert samples[0].inputs["attention_mask"].tolist() == [[1, 1, 1, 0]]
    assert samples[1].valid.all()
    assert samples.description == (
        "an array of token ids, rows of 4 token ids, 0 at the end of a row is padding"
    )


def test_rows_are_cut_to_the_tokens_asked_for():
    samples = token_id_samples(IDS, takes=TAKES, n_tokens=2, n_samples=1)
    assert [sample.inputs["input_ids"].tolist() for sample in samples] == [[[4, 5]]]


def test_ids_outside_the_vocabulary_are_refused():
    with pytest.raises(DataError, match=r"must lie in 0..11, .* has 12. Use the tokenizer that belongs"):
        token_id_samples(np.array([[3, 12]]), takes=TAKES)
    with pytest.raises(DataError, match="has -1"):
        token_id_samples(np.array([[3, -1]]), takes=TAKES)


def test_a_row_of_padding_alone_is_refused():
    samples = token_id_samples(np.array([[3, 1], [0, 0]]), takes=TAKES, pad_id=0)
    with pytest.raises(DataError, match="row 1 of an array of token ids must hold real tokens"):
        samples[1]


def test_other_shapes_and_dtypes_are_refused():
    with pytest.raises(ShapeError, match=r"axes \(sample, token\).*found shape \(4,\). For one row, use ids"):
        token_id_samples(IDS[0], takes=TAKES)
    with pytest.raises(ShapeError, match=r"neither of them empty; found shape \(0, 4\)"):
        token_id_samples(IDS[:0], takes=TAKES)
    with pytest.raises(ShapeError, match="must be integers; found float64"):
        token_id_samples(IDS.astype(float), takes=TAKES)


def test_lengths_that_do_not_fit_are_refused():
    with pytest.raises(CaptureError, match="5 tokens were asked for; rows of an array of token ids have 4"):
        token_id_samples(IDS, takes=TAKES, n_tokens=5)
    with pytest.raises(CaptureError, match="9 tokens were asked for; the model has positions for 8"):
        token_id_samples(np.ones((1, 9), dtype=int), takes=TAKES)


def test_pickled_and_damaged_files_are_refused(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}]), allow_pickle=True)
    (tmp_path / "junk.npy").write_bytes(b"junk")
    (tmp_path / "empty.npy").write_bytes(b"")
    for name in ("objects.npy", "junk.npy", "empty.npy"):
        with pytest.raises(CaptureError, match=f"{name} must be an array of numbers as numpy saves it"):
            token_id_samples(tmp_path / name, takes=TAKES)


def test_a_missing_file_or_another_kind_of_file_is_refused(tmp_path):
    with pytest.raises(CaptureError, match="there is no such file"):
        token_id_samples(tmp_path / "no.npy", takes=TAKES)
    (tmp_path / "ids.csv").write_text("1,2")
    with pytest.raises(CaptureError, match=r"ids.csv must be a .npy or .npz file"):
        token_id_samples(tmp_path / "ids.csv", takes=TAKES)
