"""Messages that can be read: a name or value as long as a book loses its middle, and one thing is not many."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["counted", "cut", "listed", "shortened"]

_LONGEST = 200  # characters of a name or a path in a message
_BEGIN, _END = 120, 60  # of which so many are kept where it is longer
_QUOTED = re.compile(rf"(?<!\w)'[^']*'|[^\s']{{{_LONGEST},}}")  # or a long word


def counted(count: int, one: str, many: str = "") -> str:
    """So many of something: "1 step", "2,000 steps", "3 bodies" where the plural is given."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 8) -> str:
    """The first of them, and how many there are besides."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def shortened(message: str) -> str:
    """The message with whatever is quoted, or a single word, and too long cut to its beginning and end.

    Characters that no file and no terminal takes (halves of surrogate pairs) are spelt.
    """
    message = message.encode("utf-8", "backslashreplace").decode()
    if len(message) <= _LONGEST:
        return message
    return _QUOTED.sub(lambda found: cut(found[0]), message)


def cut(text: str) -> str:
    """The beginning and the end of a long text."""
    return text if len(text) < _LONGEST else f"{text[:_BEGIN]} … {text[-_END:]}"
