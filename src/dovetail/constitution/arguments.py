"""Calls that have several forms, told apart by the number and the names of their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.errors import ArgumentType

__all__ = ["bind"]


def bind(
    who: str,
    forms: Sequence[tuple[str, ...]],
    given: Sequence[Any],
    named: Mapping[str, Any],
    optional: tuple[int, ...] = (),
) -> dict[str, Any]:
    """The arguments by name, for the first form they fit.

    `optional[k]` is the number of arguments that may be missing at the end of form k.
    """
    for form, spare in zip(forms, optional or (0,) * len(forms), strict=True):
        arguments = dict(zip(form, given, strict=False))
        missing = set(form[: len(form) - spare]) - arguments.keys() - named.keys()
        if len(given) <= len(form) and not missing and named.keys() <= set(form) - arguments.keys():
            return arguments | dict(named)
    written = " or ".join(f"({', '.join(form)})" for form in forms)
    received = ", ".join(["…"] * len(given) + [f"{name}=…" for name in named])
    raise ArgumentType(f"{who} takes {written}, but got ({received})")
