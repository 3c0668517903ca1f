"""Names of bodies and joints, by themselves or by what has them, as tapes and gradients are asked for them."""

from __future__ import annotations

from typing import Any

from dovetail.checked import shown
from dovetail.errors import GradientError

__all__ = ["called", "pair"]


def called(who: str, thing: Any) -> str:
    """The name that is given, or that of a handle."""
    name = thing if isinstance(thing, str) else getattr(thing, "name", None)
    if not isinstance(name, str):
        raise GradientError(f"{who}: {shown(thing)} has no name; give a body or joint, or its name.")
    return name


def pair(who: str, given: Any) -> tuple[Any, str]:
    """A joint and the name of an attribute."""
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[1], str):
        raise GradientError(f"{who}: [{shown(given)}]; give (joint, attribute).")
    return given
