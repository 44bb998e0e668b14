"""What the README and the pages say can be run, is run."""

import contextlib
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import haarbor as hb
from tests.capturing.inputs.small_models import byte_tokenizer
from tests.cli.builders import answer

ROOT = Path(__file__).parents[2]


def code_blocks(path, language):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [text for written, text in blocks if written == language]


def test_the_three_lines_of_the_readme_run_on_an_array(capsys):
    first = code_blocks(ROOT / "README.md", "python")[0]
    X = hb.datasets.synthetic_attention(n_tokens=16, n_layers=1, heads_per_layer=4)
    scope = {"X": X}
    exec(first, scope)
    assert len(scope["found"]) == 4
    assert capsys.readouterr().out.startswith("4 items")


def test_the_huggingface_lines_of_the_readme_run_on_a_model():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=8, num_attention_heads=2, num_hidden_layers=3, intermediate_size=8, vocab_size=20
    )
    # As it comes, with gradients, and in a type that numpy does not have.
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").to(torch.bfloat16)
    lines = code_blocks(ROOT / "README.md", "python")[1]
    scope = {"np": np, "hb": hb, "model": model, "inputs": {"input_ids": torch.arange(6)[None]}}
    exec(lines, scope)
    assert scope["X"].shape == (6, 6, 6)
    assert scope["org"].trees["head"].n_items == 6


@pytest.mark.slow
def test_the_commands_of_the_readme_run_in_their_order(tmp_path):
    (tmp_path / "text.txt").write_text((ROOT / "docs" / "report.md").read_text())
    blocks = [block for block in code_blocks(ROOT / "README.md", "") if block.startswith("haarbor")]
    given = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    assert [words[1] for words in given] == [
        "capture", "organize", "report", "figures", "invariance", "prune", "info",
    ]  # fmt: skip
    # A tiny network in place of MODEL, and fewer tokens and samples of it: the commands are what is tried.
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=256, n_positions=32, n_embd=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path / "model")
    byte_tokenizer().save_pretrained(tmp_path / "model")
    smaller = {"MODEL": "model", "256": "16", "10": "2"}
    fewer = {
        "figures": ["--seeds", "1"],
        "prune": ["--quick", "--calibration", "4", "--evaluation", "4", "--seeds", "1", "--tokens", "16"],
    }
    for words in given:
        asked = [*(smaller.get(word, word) for word in words), *fewer.get(words[1], [])]
        with contextlib.chdir(tmp_path):
            done = answer(*asked[1:])
        assert done.code == 0, f"{words}: {done.err}"
    assert {"run.zarr", "report.html", "figures"} <= {path.name for path in tmp_path.iterdir()}


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(
        r"^make (\w+)", "\n".join(code_blocks(ROOT / "README.md", "")), flags=re.MULTILINE
    ):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_pages_hold_no_machine_paths():
    for page in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
        assert not re.search(r"/(home|root|tmp|work)/", page.read_text()), page.name
