"""A command that refuses an option given twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand

__all__ = ["OnceOnly"]


class OnceOnly(TyperCommand):
    """A command that refuses an option given twice; typer alone would ignore the first in silence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments as usual, after a check that no option is given twice."""
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for option, times in Counter(given).items():
            if times > 1 and not option.multiple:
                raise typer.BadParameter(
                    f"may be given once; it is given {times} times.",
                    ctx=ctx,
                    param_hint=list(option.opts),
                )
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Placeholders as they stand everywhere else: MODEL, not {MODEL}."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]
