"""A kind of fault: the functions it strikes, its seeds, and how one case is tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from faults.outcome import Outcome

__all__ = ["Case", "Form", "Kind"]

Form = Literal["short", "long"]
Tried = Callable[[str, int, Path], Outcome]


class Case(NamedTuple):
    """One thing tried; the same case does the same thing every time."""

    kind: str
    function: str
    seed: int

    @property
    def command(self) -> str:
        """The line that tries it again."""
        function = f"'{self.function}'" if " " in self.function else self.function
        return f"python -m faults {self.kind} --function {function} --seed {self.seed}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Kind:
    """A kind of fault."""

    name: str
    title: str
    """One line for the table."""
    functions: Callable[[], Mapping[str, Mapping[Form, Sequence[int]]]]
    """For each function, or thing struck, the seeds of both forms."""
    tried: Tried
    """Outcome of a case, given a scratch folder that cases of one process share."""
    warm: Callable[[], None] = lambda: None
    """Done once before the processes are forked, such as what takes long to import or compile."""
    limit_seconds: float = 30.0
    """Silence for longer than this is a hang."""
    cases_per_process: int = 50

    def cases(self, form: Form) -> list[Case]:
        """All cases of a form."""
        return [
            Case(self.name, function, seed)
            for function, seeds in self.functions().items()
            for seed in seeds[form]
        ]
