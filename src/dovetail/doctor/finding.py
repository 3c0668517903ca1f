"""One thing that an examination found."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Finding", "problem", "remark", "warning"]


class Finding(NamedTuple):
    """What was found, and what to do about it.

    kind    "problem" must be mended, "warning" may surprise, "remark" is good to know
    """

    kind: Literal["problem", "warning", "remark"]
    text: str
    advice: str = ""


def problem(text: str, advice: str) -> Finding:
    return Finding("problem", text, advice)


def warning(text: str, advice: str) -> Finding:
    return Finding("warning", text, advice)


def remark(text: str) -> Finding:
    return Finding("remark", text)
