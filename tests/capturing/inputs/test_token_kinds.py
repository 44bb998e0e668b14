"""Kinds of tokens, from the ids and the configuration, and on their way into the run."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
import haarbor as hb  # noqa: E402
from haarbor.capturing import Sample  # noqa: E402
from haarbor.capturing.inputs._token_kinds import _named_ids  # noqa: E402
from haarbor.errors import CaptureError  # noqa: E402
from tests.capturing.small_models import IMAGE_TOKEN, gpt2, llava, llava_inputs  # noqa: E402

PLACES = tuple(f"{row},{column}" for row in range(4) for column in range(4))
KINDS = ("special", "text", *["image"] * 16, "text", "text", "special")


def sample(**changes):
    return Sample(**{"inputs": llava_inputs(), "labels": (), "valid": None, **changes})


def test_image_tokens_are_told_from_text_in_any_batch(tmp_path):
    run = hb.capture(llava(), [llava_inputs()], tmp_path / "run")
    assert run.token_kinds(0, "language_model") == (KINDS, KINDS)
    # The vision network reads pixels, which are no tokens of the text.
    assert run.token_kinds(0, "vision_tower") == ((), ())
    assert run.labels(0, "language_model").query == ("1", "7", *PLACES, "5", "6", "2")
    assert run.plan.labels == "tokens"


def test_each_row_of_a_batch_has_kinds_of_its_own(tmp_path):
    both = {name: torch.cat([value, value]) for name, value in llava_inputs().items()}
    both["input_ids"][1, [1, -2]] = 2
    run = hb.capture(llava(), [both], tmp_path / "run")
    assert run.token_kinds(0).query == KINDS
    assert run.token_kinds(1).query == ("special", "special", *KINDS[2:-2], "special", "special")


def test_labels_of_the_user_stay_and_what_stands_for_the_image_becomes_places(tmp_path):
    words = ("<s>", "see", *["<image>"] * 16, "what", "?", "</s>")
    run = hb.capture(llava(), [sample(labels=words)], tmp_path / "run")
    assert run.labels(0).query == ("<s>", "see", *PLACES, "what", "?", "</s>")
    own = tuple(f"token {i}" for i in range(21))
    run = hb.capture(llava(), [sample(labels=own)], tmp_path / "own")
    assert run.labels(0).query == own


def test_image_tokens_that_form_no_grid_keep_their_label(tmp_path):
    inputs = llava_inputs()
    apart = inputs["input_ids"][:, [0, *range(2, 10), 1, *range(10, 21)]]
    run = hb.capture(llava(), [{**inputs, "input_ids": apart}], tmp_path / "run")
    assert run.token_kinds(0).query == ("special", *["image"] * 8, "text", *["image"] * 8, *KINDS[-3:])
    assert run.labels(0).query[1] == str(IMAGE_TOKEN)


def test_kinds_of_the_user_go_before(tmp_path):
    ids = torch.arange(3, 9)[None]
    kinds = ("question", "question", "question", "context", "context", "context")
    inputs = {"input_ids": ids}
    run = hb.capture(gpt2(), [Sample(inputs=inputs, labels=(), valid=None, kinds=kinds)], tmp_path / "run")
    assert run.token_kinds(0) == (kinds, kinds)
    assert run.labels(0).query == ("3", "4", "5", "6", "7", "8")


@pytest.mark.parametrize(
    ("kinds", "found"),
    [(("text",) * 5, "5 of them"), ("text", "'text'"), ((1,) * 6, "6 of them"), (("",) * 6, "6 of them")],
)
def test_kinds_that_are_not_one_word_per_token_are_refused_before_anything_is_written(tmp_path, kinds, found):
    wrong = Sample(inputs={"input_ids": torch.arange(3, 9)[None]}, labels=(), valid=None, kinds=kinds)
    with pytest.raises(CaptureError, match=f"one word for each of its 6 tokens; found {found}"):
        hb.capture(gpt2(), [wrong], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_text_alone_has_no_kinds_and_its_files_say_nothing_of_them(tmp_path):
    hb.capture(gpt2(), [{"input_ids": torch.tensor([[1, 5, 6, 2]])}], tmp_path / "run")
    run = hb.open_run(tmp_path / "run")
    assert run.token_kinds(0) == ((), ())
    assert run.plan.labels == "none"
    assert b"kinds" not in (tmp_path / "run/batches/00000/zarr.json").read_bytes()


def test_the_attention_from_text_to_image_can_be_cut_out_by_kind(tmp_path):
    model = llava()
    run = hb.capture(model, [llava_inputs()], tmp_path / "run")
    kinds = np.array(run.token_kinds(0).query)
    found = np.asarray(run.tensor(0))[np.ix_(kinds == "text", kinds == "image")]
    with torch.no_grad():
        layers = model(**llava_inputs(), output_attentions=True).attentions
    expected = torch.cat(layers, dim=1)[0, :, [1, 18, 19], 2:18].permute(1, 2, 0).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)


class SeveralTexts:
    """A configuration that refuses to name one text, as that of MusicGen does."""

    def to_dict(self):
        return {"image_token_id": 5, "eos_token_id": 2, "hidden_size": 8}

    def get_text_config(self):
        raise ValueError("several text configurations")


def test_a_configuration_with_several_texts_has_the_names_of_its_own_alone():
    assert _named_ids(SeveralTexts()) == {5: "image", 2: "special"}
