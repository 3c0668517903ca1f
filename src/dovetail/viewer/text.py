"""Names as text: whatever a body or a file is called, a page shows it and does not obey it."""

from __future__ import annotations

__all__ = ["as_label", "as_text"]

_LONGEST = 80  # characters of a name


def as_label(name: str, longest: int = _LONGEST) -> str:
    """For lists, titles and names of nodes, which pages take literally: one line that can be sent, not too long."""
    whole = name if len(name) <= longest else f"{name[: longest - 1]}…"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in whole)


def as_text(name: str, longest: int = _LONGEST) -> str:
    """For Markdown, in which HTML counts: everything but letters, digits and blanks is written as a number.

    Such a character reference never begins a tag, a link or any other structure.
    """
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in as_label(name, longest))
