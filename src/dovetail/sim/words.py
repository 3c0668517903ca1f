"""What the engine says, in the words of `Sim`: its calls instead of constitutions, names instead of numbers."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from dovetail.errors import DovetailError

__all__ = ["in_own_words", "own_words", "speaking"]

_PASS = r"by contact_tabular\.insert\(L, R, 0, 1e9, enable=False\)"
_WORDS = (
    (r"instance 0 of ('[^']*')(?: \(geometry \d+\))?", r"\1"),
    (r"(?:vertex \d+ of )?('[^']*') is (\S+) m behind half-plane", r"\1 is \2 m below"),
    (r"joint 0 of ('[^']*')", r"\1"),
    (r"coupling 0 has", "the coupling has"),
    (r": joint 0 ", ": the joint "),
    (_PASS + " or different subscenes", "by sim.no_contact(one, other)"),
    (_PASS, "by contact=False"),
    (r"or give the limit a finite strength", "or leave out hard=True"),
    (r"or use AffineBodyRevoluteJoint \(18\)", "or use Sim.revolute"),
    (
        r"use a shell, or give the mass matrix\. An AffineBodyShell may be open",
        "or give it a thickness: shells may be open",
    ),
    (r" On the surface of tetrahedra, flip_inward_triangles before extract_surface does it\.", ""),
    (r"\bAffineBodyPointOnLineJoint\b", "Sim.point_on_line"),
    (r"\bAffineBodyJointCoupling\b", "Sim.couple"),
    (r"\bAffineBody(?:Constitution|Shell)\b", "Sim.mesh"),
    (r"\bAffineBodyStateAccessorFeature\b", "Sim"),
    (r"\bAffineBodySphericalJointResistance\b", "Sim.spherical"),
    (r"\b(?:(?:Body|Joint|FreeJoint|Robot)Making|Changes)\.", "Sim."),
    (r"\bWorld\.init\b", "Sim"),
    (r"\bWorld\.advance\b", "Sim.step"),
    (r"\bWorld\.restore\b", "Sim.state"),
    (r"\bWorldState\.load\b", "Sim.load"),
    (r"\bScene config\b", "Sim"),
    (r"a larger newton/max_iter", 'Sim(config={"newton/max_iter": …}) with a larger number'),
)
_JOINT = re.compile(r"\bAffineBody([A-Z][a-z]+)Joint\b")
_Kind = TypeVar("_Kind", bound=type)


def own_words(text: str) -> str:
    """A message of the engine as `Sim` says it."""
    for pattern, replacement in _WORDS:
        text = re.sub(pattern, replacement, text)
    return _JOINT.sub(lambda match: f"Sim.{match[1].lower()}", text)


def _reword(error: DovetailError) -> None:
    error.args = tuple(own_words(each) if isinstance(each, str) else each for each in error.args)


def _reworded(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except DovetailError as error:
            _reword(error)
            raise

    return call


def in_own_words(kind: _Kind) -> _Kind:
    """Let all public calls of a class, also those that it inherits, speak in the words of `Sim` where they refuse."""
    for name in dir(kind):
        found = getattr(kind, name)
        if isinstance(found, property):
            get, put = (each and _reworded(each) for each in (found.fget, found.fset))
            setattr(kind, name, property(get, put, doc=found.__doc__))
        elif callable(found) and (not name.startswith("_") or name == "__init__"):
            setattr(kind, name, _reworded(found))
    return kind


class _Reworded(logging.Filter):
    """Says warnings in the words of `Sim`; errors are raised, and not said twice."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = own_words(record.getMessage()), None
        return record.levelno < logging.ERROR


@contextmanager
def speaking() -> Iterator[None]:
    """While it lasts, what is logged is said in the words of `Sim`."""
    log, words = logging.getLogger("dovetail"), _Reworded()
    log.addFilter(words)
    try:
        yield
    finally:
        log.removeFilter(words)
