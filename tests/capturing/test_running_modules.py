"""The innermost running modules are known, also after an exception."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from haarbor.capturing._running_modules import RunningModules  # noqa: E402


class Noting(nn.Module):
    def __init__(self, note, *children):
        super().__init__()
        self.note, self.parts = note, nn.ModuleList(children)

    def forward(self, x):
        self.note()
        for part in self.parts:
            x = part(x)
        return x


class SelfAttention(Noting):
    pass


def test_the_innermost_attention_module_is_the_one_whose_class_says_so():
    found = []

    def note():
        found.append(running.attention() and running.attention()[0])

    # The product inside the attention is its own; three levels below it is another matter.
    deep = Noting(note, Noting(note, Noting(note)))
    model = Noting(note, SelfAttention(note, deep))
    running = RunningModules(model)
    with running.watching():
        model(torch.zeros(1))
    assert found == [None, "parts.0", "parts.0", "parts.0", None]


def test_the_model_itself_runs_where_no_module_does():
    model = nn.Identity()
    assert RunningModules(model).innermost() == ("", model)


def test_nothing_runs_after_an_exception_and_hooks_are_gone():
    def fail():
        raise RuntimeError("stop here")

    model = Noting(lambda: None, SelfAttention(fail))
    running = RunningModules(model)
    with pytest.raises(RuntimeError, match="stop here"), running.watching():
        model(torch.zeros(1))
    assert running.innermost() == ("", model)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_condition_is_asked_of_every_running_module():
    seen = []
    inner = Noting(lambda: seen.append(running.inside(lambda module: isinstance(module, SelfAttention))))
    model = Noting(lambda: None, SelfAttention(lambda: None, inner), inner)
    running = RunningModules(model)
    with running.watching():
        model(torch.zeros(1))
    assert seen == [True, False]


def test_layers_of_torch_that_cannot_attend_are_left_without_hooks():
    model = nn.Sequential(
        nn.Linear(2, 2), nn.Softmax(dim=-1), nn.MultiheadAttention(2, 1), Noting(lambda: None)
    )
    with RunningModules(model).watching():
        hooked = [name for name, module in model.named_modules() if module._forward_pre_hooks]
    assert hooked == ["", "1", "2", "3"]
