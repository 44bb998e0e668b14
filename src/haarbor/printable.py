"""Text from outside made safe to show: names in a run may hold anything, also commands to a terminal."""

import re

__all__ = ["printable"]

# Controls of both kinds, signs that hide or turn round what follows them, ends of lines and
# paragraphs, halves of surrogate pairs, and letters that only tag. Joiners stay: words need them.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: object, *, keep: str = "") -> str:
    r"""`text` with every letter that is not to be seen written as an escape, as Python writes it.

    What comes out can be printed, encoded as UTF-8 and read: no escape sequence of a terminal, no text
    that runs backwards, no lone surrogate. Doing it twice changes nothing more.

    Parameters
    ----------
    text : object
        Its ``str`` if it is no text.
    keep : str, default ""
        Letters that stay as they are, such as ``"\n"`` for a text of several lines.

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
