"""Text from outside made safe to print: names in a run may hold anything, even terminal commands."""

import re

__all__ = ["printable"]

# Control characters, characters that hide or reverse what follows them, line and paragraph
# separators, lone surrogates and tag characters. Joiners are kept, because words are written with them.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: object, *, keep: str = "") -> str:
    r"""`text` with every character that cannot be seen written as a Python escape.

    The result can be printed, encoded as UTF-8 and read: it has no terminal commands, no text that runs
    backwards and no lone surrogates. A second call changes nothing.

    Parameters
    ----------
    text : object
        Anything but a text is turned into one by ``str``.
    keep : str, default ""
        Characters that stay as they are, such as ``"\n"`` for a text of several lines.

    Returns
    -------
    str

    Examples
    --------
    >>> printable("red \x1b[31m"), printable("a\nb\u202ec"), printable("\ud800")
    ('red \\x1b[31m', 'a\\nb\\u202ec', '\\ud800')
    >>> printable("one\ntwo\r", keep="\n")
    'one\ntwo\\r'
    """

    def escaped(found: re.Match[str]) -> str:
        letter = found[0]
        return letter if letter in keep else letter.encode("unicode_escape").decode("ascii")

    return _UNSAFE.sub(escaped, str(text))
