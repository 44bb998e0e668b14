"""The page itself: template, style, scripts and data in one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from haarbor.errors import SettingError
from haarbor.printable import printable
from haarbor.report._packing import packed_text
from haarbor.report._run_payload import RunPayload
from haarbor.report.sections import SECTIONS

__all__ = ["MOST_BYTES", "page_html", "room_for_runs", "script_text"]

MOST_BYTES = 15_000_000
"""How large a page may become by showing more than the first batch of its runs."""

_STYLES = ("theme.css", "page.css", "drawing.css", "figures.css", "views.css", "paper.css")
# The order matters: while a script is loaded, it may use only those before it.
_DRAWING = (
    "elements",
    "arithmetic",
    "words",
    "controls",
    "theme",
    "canvas",
    "colours",
    "state",
    "zip_archive",
    "tables",
    "saving",
    "charts",
    "tooltip",
    "matrix_window",
    "matrix_axes",
    "matrix_view",
    "point_projection",
    "point_axes",
    "point_cloud",
    "token_kinds",
    "tree_block",
    "patch_heat",
    "head_legend",
    "head_brush",
)
_PAYLOAD = ("packing", "run_payload", "shown_batch", "haar_scales", "head_geometry", "overview", "provenance")
_FIGURES = (
    "head_affinity",
    "head_attention",
    "head_diffusion_map",
    "head_haar_scales",
    "head_map",
    "head_over_batches",
    "head_tree",
)
_VIEWS = (
    "first_token",
    "attention_text",
    "attention_image",
    "token_lines",
    "score_facts",
    "explorer",
    "compared_heads",
    "comparison",
    "compared_bar",
    "glossary",
    "run_tabs",
    "address",
    "search",
    "two_runs",
)
_SCRIPTS = (
    *(f"drawing/{name}.js" for name in _DRAWING),
    *(f"{name}.js" for name in _PAYLOAD),
    *(f"interactive/{name}.js" for name in _FIGURES),
    *(f"views/{name}.js" for name in _VIEWS),
    *(f"sections/{name.replace('-', '_')}_section.js" for name in SECTIONS),
    "page.js",
)


def page_html(payloads: Sequence[RunPayload], about: Mapping[str, Any]) -> str:
    """The page of one run, or of two side by side.

    Parameters
    ----------
    payloads : sequence of RunPayload
    about : mapping
        JSON values about the page as a whole: versions and commands.

    Returns
    -------
    str
        HTML, the same for the same payloads.
    """
    own_script = "\n".join(_asset(name) for name in _SCRIPTS)
    plotly, packed_plotly = _plotly_script()
    pieces = [
        _data_element(
            "page-data",
            "application/json",
            script_text(_json({"about": dict(about), "runs": [p.data for p in payloads]})),
        )
    ]
    for number, payload in enumerate(payloads):
        pieces += [
            _data_element(f"run-{number}-{name}", "text/plain", text) for name, text in payload.texts.items()
        ]
    pieces.append(_data_element("plotly-source", "text/plain", packed_plotly))
    title = " and ".join(str(payload.data["model"]) for payload in payloads)
    parts = {
        "policy": _policy(own_script, plotly),
        "title": html.escape(printable(f"{title} - attention heads")),
        "style": "\n".join(_asset(name) for name in _STYLES),
        "data": "\n".join(pieces),
        "script": own_script,
    }
    text = _asset("page.html")
    # The template is filled in one pass, so that inserted text is never taken for a placeholder.
    head, *rest = text.split("{{")
    for piece in rest:
        name, _, after = piece.partition("}}")
        head += parts[name] + after
    return head


def room_for_runs() -> int:
    """How many bytes of a page of the largest size are left for its runs, once all else is there."""
    n_scripts = sum(len(_asset(name).encode("utf-8")) for name in (*_STYLES, *_SCRIPTS, "page.html"))
    # What is left over is for the ends of the elements, the title and the versions.
    return MOST_BYTES - n_scripts - len(_plotly_script()[1]) - 100_000


def script_text(text: str) -> str:
    r"""JSON text that is safe inside a script element: nothing in it can end the element or start markup.

    Examples
    --------
    >>> script_text('"</script>"')
    '"\\u003c/script\\u003e"'
    """
    for letter in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _json(value: Any) -> str:
    # ASCII only, so that lone surrogates from tokenizers are kept as escapes.
    return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"), ensure_ascii=True)


def _data_element(name: str, kind: str, text: str) -> str:
    return f'<script type="{kind}" id="{name}">{text}</script>'


def _asset(name: str) -> str:
    return files("haarbor.report").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")


@cache
def _plotly_script() -> tuple[str, str]:
    """The script of plotly, as it is and packed; packing it takes longer than the rest of a page."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise SettingError(
            "a report needs the plotly package, which is not installed. Run pip install 'haarbor[report]'."
        ) from None
    script = str(get_plotlyjs())
    return script, packed_text(script.encode("utf-8"))


def _policy(*scripts: str) -> str:
    """Content-Security-Policy: these scripts and no others, and nothing from outside."""
    hashes = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii") + "'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
