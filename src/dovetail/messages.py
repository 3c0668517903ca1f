"""Messages that can be read: a name or value as long as a book loses its middle."""

from __future__ import annotations

import re

__all__ = ["shortened"]

_LONGEST = 200  # characters of a name or a path in a message
_BEGIN, _END = 120, 60  # of which so many are kept where it is longer
_LONG = re.compile(rf"'[^']{{{_LONGEST},}}'|[^\s']{{{_LONGEST},}}")


def shortened(message: str) -> str:
    """The message with whatever is quoted, or a single word, and too long cut to its beginning and end."""
    if len(message) <= _LONGEST:
        return message
    return _LONG.sub(lambda found: f"{found[0][:_BEGIN]} … {found[0][-_END:]}", message)
