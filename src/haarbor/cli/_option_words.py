"""Messages of Haarbor's functions in the words of the command line."""

from __future__ import annotations

import re

__all__ = ["option_words"]

# Arguments of functions that are options of commands; a message about one begins with its name.
_OPTIONS = (
    "approximate", "batch", "content", "dtype", "groups", "heads_per_layer", "leave_out", "memory", "mode",
    "pool", "seed", "stream",
)  # fmt: skip
_FIRST = re.compile(rf"({'|'.join(_OPTIONS)})(?= (must|names|is) )")
_ASKED = re.compile(r"(\d+) (tokens|batches) were asked for;")
_VALUE = re.compile(r"(?:\bPass )?\b(content|dtype|engine|groups|memory|mode)=['\"](\w+)['\"]")
_NUMBER = re.compile(r"\b(pool)=(\d+)\b")
_BOTH_WAYS = re.compile(r"\bpass \w+=.*? \((--[^)]*)\)")
_ARRAYS = re.compile(r"(G|g)ive weights that you computed to haarbor\.import_arrays\(.*?\)\)")
_SENTENCES = {
    "Pass the mask the model used, or logits before masking.": "Add --causal if no query sees later keys, or "
    "save logits before masking.",
    "For one row, use ids[None].": "Save one row for each sample.",
    "choose another location": "choose another --out",
    "; leave_out names": "; --leave-out names",
    "Capture fewer tokens.": "Ask for fewer --tokens.",
    "set a limit with memory=": "set a limit with --memory",
}


def option_words(message: str) -> str:
    """A message in which arguments of functions are called as the options of commands.

    Parameters
    ----------
    message : str
        Of a HaarborError.

    Returns
    -------
    str

    Examples
    --------
    >>> option_words("leave_out must name layers that compute attention; 'x' names none.")
    "--leave-out must name layers that compute attention; 'x' names none."
    >>> option_words("To capture the rest, pass leave_out=['*.x'] (--leave-out '*.x').")
    "To capture the rest, give --leave-out '*.x'."
    >>> option_words("Store them with dtype='float32'.")
    'Store them with --dtype float32.'
    >>> option_words("memory must hold one block; found 1 MB. Pass memory='315MB' or more.")
    '--memory must hold one block; found 1 MB. Give --memory 315MB or more.'
    """
    found = _FIRST.match(message)
    if found is not None:
        message = f"--{found[1].replace('_', '-')}{message[found.end() :]}"
    message = _ASKED.sub(r"--\2 \1 was asked for;", message)
    message = _BOTH_WAYS.sub(r"give \1", message)
    message = _VALUE.sub(_as_option, message)
    message = _NUMBER.sub(r"--\1 \2", message)
    message = _ARRAYS.sub(r"\1ive weights that you computed and saved as .npy to haarbor organize", message)
    for theirs, ours in _SENTENCES.items():
        message = message.replace(theirs, ours)
    return message


def _as_option(found: re.Match[str]) -> str:
    given = "Give " if found[0].startswith("Pass ") else ""
    return f"{given}--{found[1]} {found[2]}"
