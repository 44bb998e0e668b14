import pytest

from haarbor.compare import shared_tokens
from tests.compare.networks import attention, written


@pytest.fixture
def part(tmp_path):
    def made(name, n_batches=2, **options):
        tensors = [attention(batch) for batch in range(n_batches)]
        return written(tmp_path / name, tensors, **options).part()

    return made


def test_texts_are_compared_token_by_token(part):
    one = part("one", words="a", n_batches=3)
    assert shared_tokens(one, part("two", words="a")).batches == (0, 1)
    assert shared_tokens(one, part("three", words="a")).tokens == "the same"
    other = shared_tokens(one, part("four", words="b"))
    assert (other.batches, other.tokens) == ((), "different")


def test_what_has_no_labels_is_told_by_the_digest_of_its_data(part):
    one = part("one", content="x")
    assert shared_tokens(one, part("two", content="x")).tokens == "the same"
    assert shared_tokens(one, part("three", content="y")).tokens == "different"


def test_where_nothing_tells_it_is_taken_for_the_same_and_said(part):
    found = shared_tokens(part("one"), part("two", words="a"))
    assert (found.batches, found.tokens) == ((0, 1), "taken to be the same")


def test_other_numbers_of_tokens_are_other_tokens(part, tmp_path):
    short = written(tmp_path / "short", [attention(0)[:9, :9]]).part()
    assert shared_tokens(part("one"), short).tokens == "different"
