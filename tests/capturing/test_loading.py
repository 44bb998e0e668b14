import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from tokenizers import pre_tokenizers

from haarbor.capturing import _loading as loading
from haarbor.capturing import load_model
from haarbor.capturing.inputs import TokenInputs, image_samples
from haarbor.errors import CaptureError, SettingError
from tests.capturing.inputs.small_models import small_model, word_tokenizer

has_gguf_reader = all(importlib.util.find_spec(name) for name in ("gguf", "accelerate"))


@pytest.fixture
def saved(tmp_path):
    """Save a small model in a folder of its own, as save_pretrained does."""

    def save(kind, *, tokenizer=None, name="checkpoint"):
        folder = tmp_path / name
        loading_bars = transformers.utils.logging.is_progress_bar_enabled()
        transformers.utils.logging.disable_progress_bar()
        small_model(kind).save_pretrained(folder)
        if loading_bars:
            transformers.utils.logging.enable_progress_bar()
        if tokenizer is not None:
            tokenizer.save_pretrained(folder)
        return folder

    return save


def edit_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("kind", ["GPT2LMHeadModel", "BertModel", "T5Model", "ViTModel"])
def test_a_folder_gives_the_model_that_was_saved(saved, kind):
    loaded = load_model(saved(kind))
    assert type(loaded.model).__name__ == kind
    assert not loaded.model.training
    assert loaded.name == "checkpoint"
    expected = small_model(kind).state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in loaded.model.state_dict().items())


def test_a_tokenizer_comes_with_the_model_where_there_is_one(saved):
    loaded = load_model(saved("GPT2LMHeadModel", tokenizer=word_tokenizer(pad_token="[PAD]")))
    assert loaded.tokenizer("the cat")["input_ids"] == [4, 5]
    assert isinstance(loaded.takes, TokenInputs)
    assert loaded.images is None
    assert loaded.notes == ()
    assert load_model(saved("GPT2LMHeadModel", name="bare")).tokenizer is None


def test_a_damaged_tokenizer_is_told_and_not_fatal(saved):
    folder = saved("GPT2LMHeadModel")
    (folder / "tokenizer.json").write_text("{")
    loaded = load_model(folder)
    assert loaded.tokenizer is None
    assert len(loaded.notes) == 1
    assert loaded.notes[0].startswith("the tokenizer could not be loaded: ")


@pytest.mark.parametrize("nested", [False, True])
def test_image_settings_come_from_the_preprocessor(saved, nested):
    folder = saved("ViTModel")
    found = {"image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6], "resample": 3}
    if nested:
        (folder / "processor_config.json").write_text(json.dumps({"image_processor": found}))
    else:
        (folder / "preprocessor_config.json").write_text(json.dumps(found))
    loaded = load_model(folder)
    assert loaded.images.mean == (0.1, 0.2, 0.3)
    assert loaded.images.std == (0.4, 0.5, 0.6)
    assert loaded.images.resample == "bicubic"
    assert loaded.notes == ()


def test_without_a_preprocessor_a_note_says_how_images_are_normalised(saved):
    loaded = load_model(saved("ViTModel"))
    assert loaded.images.mean == (0.5, 0.5, 0.5)
    assert loaded.notes == (
        "images are normalised with mean and deviation 0.5: no preprocessor_config.json.",
    )


def test_the_digest_does_not_depend_on_where_the_model_lies(saved, tmp_path):
    one = saved("BertModel", name="one")
    shutil.copytree(one, tmp_path / "two")
    edit_config(tmp_path / "two", transformers_version="9.9.9")
    assert load_model(one).config_digest == load_model(tmp_path / "two").config_digest
    edit_config(tmp_path / "two", layer_norm_eps=1e-3)
    assert load_model(one).config_digest != load_model(tmp_path / "two").config_digest


def test_the_dtype_is_the_one_asked_for_or_the_checkpoints(saved):
    folder = saved("BertModel")
    assert load_model(folder).model.dtype == torch.float32
    assert load_model(folder, dtype="float16").model.dtype == torch.float16
    assert load_model(folder, dtype=torch.bfloat16).model.dtype == torch.bfloat16


def test_a_class_that_transformers_does_not_have_becomes_the_bare_model_and_a_note(saved):
    folder = saved("BertModel")
    edit_config(folder, architectures=["BertForTeaTime"])
    loaded = load_model(folder)
    assert type(loaded.model).__name__ == "BertModel"
    assert loaded.notes == ("transformers has no BertForTeaTime; the model was loaded without its task.",)


@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
def test_a_model_of_other_inputs_loads_with_a_note(saved):
    loaded = load_model(saved("Wav2Vec2Model"))
    assert loaded.takes is None
    assert "takes input_values, for which Haarbor makes no inputs" in loaded.notes[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "newest", "auto_map": {"AutoConfig": "code.C", "AutoModel": "code.M"}},
        {"architectures": ["NewestModel"], "auto_map": {"AutoModel": "code.M"}},
    ],
)
def test_a_model_that_brings_its_own_code_is_refused_and_nothing_is_run(saved, changes):
    folder = saved("BertModel")
    (folder / "code.py").write_text("raise SystemExit('this was run')")
    edit_config(folder, **changes)
    with pytest.raises(
        CaptureError, match=r"needs code of its own \(.* in auto_map\), which Haarbor does not"
    ):
        load_model(folder)


def test_code_is_not_run_where_transformers_has_the_model(saved):
    folder = saved("BertModel")
    (folder / "code.py").write_text("raise SystemExit('this was run')")
    edit_config(folder, auto_map={"AutoConfig": "code.C", "AutoModel": "code.M"})
    assert type(load_model(folder).model).__module__.startswith("transformers.")


def test_pickled_weights_are_refused(saved):
    folder = saved("BertModel")
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(CaptureError, match=r"must be safetensors; found only pytorch_model.bin, a pickle"):
        load_model(folder)


def test_missing_and_damaged_weights_are_refused(saved):
    folder = saved("BertModel")
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(CaptureError, match="the weights of checkpoint could not be loaded"):
        load_model(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(CaptureError, match=r"must have model.safetensors; there is none"):
        load_model(folder)


def test_weights_that_do_not_fill_the_model_are_refused(saved):
    folder = saved("BertModel")
    edit_config(folder, num_hidden_layers=2)
    with pytest.raises(CaptureError, match=r"must fill BertModel; 16 are missing, such as encoder.layer.1"):
        load_model(folder)


def test_weights_of_another_size_are_refused(saved):
    folder = saved("BertModel")
    edit_config(folder, intermediate_size=32)
    with pytest.raises(CaptureError, match="the weights of checkpoint could not be loaded"):
        load_model(folder)


def test_a_head_that_the_checkpoint_lacks_is_no_reason_to_refuse(saved):
    folder = saved("BertModel")
    edit_config(folder, architectures=["BertForSequenceClassification"])
    assert type(load_model(folder).model).__name__ == "BertForSequenceClassification"


def test_a_folder_without_a_configuration_is_refused(tmp_path):
    with pytest.raises(CaptureError, match=r"must have a config.json; there is none. It has no .gguf file"):
        load_model(tmp_path)
    (tmp_path / "tiny.gguf").touch()
    with pytest.raises(CaptureError, match=r"there is none. It has tiny.gguf"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"config.json must be JSON"),
        ("[]", r"config.json must be a JSON object; found list"),
        ("{}", r"must name a model_type that transformers has; found None"),
        ('{"model_type": "newest"}', r"must name a model_type that transformers has; found 'newest'"),
        ('{"model_type": "bert", "hidden_size": "big"}', r"config.json of .* could not be read"),
    ],
)
def test_configurations_that_cannot_be_read_are_refused(tmp_path, text, message):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(CaptureError, match=message) as found:
        load_model(tmp_path)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("name", ["/no/such/folder", "./none", "~/none/at/all", "a/b/c", "model.gguf"])
def test_paths_that_do_not_exist_are_refused(name):
    with pytest.raises(CaptureError, match=r"there is no model at .* Check the path"):
        load_model(name)


def test_a_file_that_is_no_model_is_refused(saved):
    with pytest.raises(CaptureError, match=r"model.safetensors is another kind of file. Give the folder"):
        load_model(saved("BertModel") / "model.safetensors")


def test_options_that_are_not_offered_are_refused(tmp_path):
    with pytest.raises(SettingError, match=r"dtype must be one of bfloat16, .*; found 'int8'"):
        load_model(tmp_path, dtype="int8")
    with pytest.raises(CaptureError, match="the device abacus cannot be used here"):
        load_model(tmp_path, device="abacus")
    for wrong in (None, b"cpu"):
        with pytest.raises(CaptureError, match="cannot be used here: it is neither a text nor"):
            load_model(tmp_path, device=wrong)


class TestHub:
    @pytest.fixture
    def download(self, monkeypatch):
        """Replace the download; give it a folder, or an error to raise."""
        import huggingface_hub

        state = SimpleNamespace(answer=None, patterns=[])

        def snapshot_download(name, *, allow_patterns):
            state.patterns = allow_patterns
            if isinstance(state.answer, Exception):
                raise state.answer
            return str(state.answer)

        monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
        return state

    def test_a_hub_name_stays_the_models_name(self, saved, download):
        download.answer = saved("BertModel", name="0123abcd")
        loaded = load_model("someone/small-bert")
        assert loaded.name == "someone/small-bert"
        assert loaded.config_digest == load_model(download.answer).config_digest

    def test_neither_pickles_nor_code_are_downloaded(self, saved, download):
        download.answer = saved("BertModel")
        load_model("someone/small-bert")
        for file in ("pytorch_model.bin", "modeling.py", "onnx/model.onnx", "model.fp16.safetensors"):
            assert not any(Path(file).match(pattern) for pattern in download.patterns)
        assert "model.safetensors" in download.patterns

    def test_a_hub_that_cannot_be_reached_is_told_in_one_line(self, download):
        download.answer = ConnectionError("first\nsecond")
        with pytest.raises(CaptureError, match="no folder someone/x here, and the hub cannot be reached"):
            load_model("someone/x")

    def test_names_that_the_hub_does_not_have_are_told_in_one_line(self, download):
        from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

        response = SimpleNamespace(headers={}, request=None)
        download.answer = RepositoryNotFoundError("no", response=response)
        with pytest.raises(CaptureError, match="no folder someone/x here, and no such model on the hub"):
            load_model("someone/x")
        download.answer = GatedRepoError("no", response=response)
        with pytest.raises(CaptureError, match="its owners have not given you access"):
            load_model("someone/x")

    def test_offline_is_told_in_one_line(self, monkeypatch, tmp_path):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        with pytest.raises(CaptureError, match="and the hub cannot be reached") as found:
            load_model("nobody/has-this-model-0000")
        assert "\n" not in str(found.value)


class TestGguf:
    @pytest.fixture
    def packages(self, monkeypatch):
        """Say that the reader's packages are installed, whether they are or not."""
        monkeypatch.setattr(loading, "_require_gguf_packages", lambda short: None)

    def test_a_file_that_is_no_gguf_is_refused(self, tmp_path, packages):
        (tmp_path / "x.gguf").write_bytes(b"junk")
        for name, options in ((tmp_path, {"gguf_file": "x.gguf"}), (tmp_path / "x.gguf", {})):
            with pytest.raises(CaptureError, match=r"x.gguf must be a GGUF file of an architecture"):
                load_model(name, **options)

    def test_a_name_that_is_not_in_the_folder_is_refused(self, tmp_path):
        (tmp_path / "x.gguf").touch()
        with pytest.raises(CaptureError, match=r"there is no y.gguf in .* It has x.gguf"):
            load_model(tmp_path, gguf_file="y.gguf")

    def test_missing_packages_are_named(self, tmp_path, monkeypatch):
        (tmp_path / "x.gguf").touch()
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(
            CaptureError, match=r"which needs gguf and accelerate: pip install gguf accelerate"
        ):
            load_model(tmp_path / "x.gguf")

    @pytest.mark.skipif(not has_gguf_reader, reason="needs gguf and accelerate")
    def test_a_gguf_file_gives_a_model_and_its_tokenizer(self, tmp_path):
        write_small_gguf(tmp_path / "small.gguf")
        loaded = load_model(tmp_path / "small.gguf", dtype="float32")
        assert loaded.name == "small"
        assert type(loaded.model).__name__ == "LlamaForCausalLM"
        assert loaded.takes.vocab_size == 260
        assert loaded.takes.max_tokens == 32
        assert loaded.tokenizer.convert_ids_to_tokens(loaded.tokenizer("abc")["input_ids"]) == ["ab", "c"]
        with torch.no_grad():
            assert loaded.model(torch.tensor([[5, 6, 7]])).logits.shape == (1, 3, 260)
        assert loaded.notes == ()

    @pytest.mark.skipif(not has_gguf_reader, reason="needs gguf and accelerate")
    def test_a_tokenizer_that_splits_the_words_of_its_vocabulary_is_left_out(self, tmp_path):
        write_small_gguf(tmp_path / "small.gguf", words=["\u0120ab", "\u0120bab"])
        loaded = load_model(tmp_path / "small.gguf", dtype="float32")
        assert loaded.tokenizer is None
        assert len(loaded.notes) == 1
        assert re.search(
            r"small.gguf must give the words of its vocabulary as one token each; it cuts 2 of 2 into pieces "
            r"\('ab' becomes '' \+ 'ab'\), so it is left out. transformers [\d.]+ reads it wrong",
            loaded.notes[0],
        )

    @pytest.mark.skipif(not has_gguf_reader, reason="needs gguf and accelerate")
    def test_a_tokenizer_that_keeps_them_whole_stays(self, tmp_path):
        write_small_gguf(tmp_path / "small.gguf", merges=["a b", "\u0120 ab"], words=["\u0120ab"])
        loaded = load_model(tmp_path / "small.gguf", dtype="float32")
        assert loaded.tokenizer is not None
        assert loaded.notes == ()


def write_small_gguf(path, *, merges=("a b",), words=()):
    import gguf

    rng = np.random.default_rng(0)
    width, hidden, n_vocab = 16, 32, 260 + len(words)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(32)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(8)
    writer.add_vocab_size(n_vocab)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    writer.add_token_list([*letters, "ab", "<begin>", "<end>", "<pad>", *words])
    writer.add_token_types([1] * 257 + [3] * 3 + [1] * len(words))
    writer.add_token_merges(list(merges))
    writer.add_bos_token_id(257)
    writer.add_eos_token_id(258)
    shapes = {
        "token_embd.weight": (n_vocab, width),
        "output.weight": (n_vocab, width),
        "output_norm.weight": (width,),
        "blk.0.attn_norm.weight": (width,),
        "blk.0.ffn_norm.weight": (width,),
        "blk.0.attn_q.weight": (width, width),
        "blk.0.attn_k.weight": (8, width),
        "blk.0.attn_v.weight": (8, width),
        "blk.0.attn_output.weight": (width, width),
        "blk.0.ffn_gate.weight": (hidden, width),
        "blk.0.ffn_up.weight": (hidden, width),
        "blk.0.ffn_down.weight": (width, hidden),
    }
    for name, shape in shapes.items():
        writer.add_tensor(name, rng.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class TestTimm:
    @pytest.fixture
    def timm(self, monkeypatch):
        """Stands for timm: what create_model gives, or raises."""
        model = torch.nn.Module()
        model.cls_token = torch.nn.Parameter(torch.zeros(1, 1, 4))
        model.patch_embed = SimpleNamespace(patch_size=(4, 4))
        model.pretrained_cfg = {
            "input_size": (3, 8, 8),
            "mean": (0.1, 0.2, 0.3),
            "std": (0.4, 0.5, 0.6),
            "crop_pct": 0.8,
            "interpolation": "bicubic",
        }
        state = SimpleNamespace(answer=model)

        def create_model(name, *, pretrained):
            assert pretrained
            if isinstance(state.answer, Exception):
                raise state.answer
            return state.answer

        fake = SimpleNamespace(create_model=create_model, is_model=lambda name: name.startswith("vit"))
        monkeypatch.setitem(sys.modules, "timm", fake)
        return state

    def test_a_timm_model_comes_with_its_image_settings(self, timm, rng):
        loaded = load_model("timm:vit_small")
        assert loaded.name == "timm:vit_small"
        assert not loaded.model.training
        assert loaded.tokenizer is None
        assert loaded.images.resize_to == 10
        assert loaded.images.mean == (0.1, 0.2, 0.3)
        images = rng.integers(0, 256, (1, 30, 20, 3), dtype=np.uint8)
        sample = image_samples(images, settings=loaded.images)[0]
        assert sample.inputs["x"].shape == (1, 3, 8, 8)
        assert sample.labels == ("CLS", "0,0", "0,1", "1,0", "1,1")

    def test_unknown_names_downloads_and_other_models_are_refused(self, timm):
        with pytest.raises(CaptureError, match="timm has no model abacus"):
            load_model("timm:abacus")
        timm.answer.patch_embed = None
        with pytest.raises(CaptureError, match="timm:vit_x must be a vision transformer; it has no patches"):
            load_model("timm:vit_x")
        timm.answer = OSError("no route\nto host")
        with pytest.raises(
            CaptureError, match=r"timm:vit_x could not be loaded: no route. Check the connection"
        ):
            load_model("timm:vit_x")

    def test_timm_that_cannot_be_imported_is_told_in_one_line(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "timm", None)
        with pytest.raises(CaptureError, match="timm:vit_x needs timm, which cannot be imported here"):
            load_model("timm:vit_x")
