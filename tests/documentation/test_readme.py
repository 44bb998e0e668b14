"""What the README and the pages say can be run, is run."""

import re
from pathlib import Path

import numpy as np

import haarbor as hb

ROOT = Path(__file__).parents[2]


def code_blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), flags=re.DOTALL)


def test_the_three_lines_of_the_readme_run_on_an_array(capsys):
    first = code_blocks(ROOT / "README.md", "python")[0]
    X = hb.datasets.synthetic_attention(n_tokens=16, n_layers=1, heads_per_layer=4)
    scope = {"X": X}
    exec(first, scope)
    assert len(scope["found"]) == 4
    assert capsys.readouterr().out.startswith("4 items")


def test_the_huggingface_lines_of_the_readme_run_on_what_a_model_returns():
    class Attention:
        def __init__(self, values):
            self.values = values

        def __getitem__(self, item):
            return Attention(self.values[item])

        def numpy(self):
            return self.values

    class Output:
        attentions = tuple(
            Attention(np.random.default_rng(layer).dirichlet(np.ones(6), size=(1, 2, 6)))
            for layer in range(3)
        )

    lines = code_blocks(ROOT / "README.md", "python")[1]
    scope = {"np": np, "hb": hb, "inputs": {}, "model": lambda **_options: Output()}
    exec(lines, scope)
    assert scope["X"].shape == (6, 6, 6)
    assert scope["org"].trees["head"].n_items == 6


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(
        r"^make (\w+)", "\n".join(code_blocks(ROOT / "README.md", "")), flags=re.MULTILINE
    ):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_links_of_the_pages_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_pages_hold_no_machine_paths():
    for page in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]:
        assert not re.search(r"/(home|root|tmp|work)/", page.read_text()), page.name
