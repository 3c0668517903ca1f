"""What callers give: arguments of another kind than a signature says are refused, numbers are read, values are shown.

    @checked(GeometryError)
    def label_surface(sc: SimplicialComplex) -> None: ...

    label_surface(5)        # GeometryError: label_surface: sc = 5; give a SimplicialComplex.

Ranges and units are for each function to check; what arrives there is of the kind that its annotation names.
"""

from __future__ import annotations

import functools
import operator
import os
import types
import typing
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from dovetail.errors import DovetailError, SceneError
from dovetail.typing import Array, ArrayLike

__all__ = ["LARGEST", "MOST_STEPS", "checked", "is_path", "number", "numbers", "shown", "step_count", "whole"]

MOST_STEPS = 10**12
"""In one call: they would take eleven days if each took a microsecond."""
LARGEST = 1e40
"""No number of a simulation is larger, in SI units: powers and products of such numbers are still floats."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


# --- numbers and texts --------------------------------------------------------------------------------------


def shown(value: Any, longest: int = 80) -> str:
    """A value as messages quote it: in one line, not too long, whatever it is."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an integer of more digits than Python spells, or a class of the caller's that fails here
        return f"a value of type {type(value).__name__}"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def number(value: Any) -> float | None:
    """A real number as a float, which may be inf or nan; None where it is none, or larger than floats go."""
    array = numbers(value)
    return None if array is None or array.ndim else float(array[()])


def numbers(value: Any) -> Array | None:
    """Real numbers, in whatever shape, as an array of floats; None where they are none.

    Text is no number, nor are complex numbers, dates, and rows of different lengths.
    """
    if isinstance(value, (float, int)) and not isinstance(value, np.generic):
        try:
            return np.array(float(value))
        except OverflowError:
            return None
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and all(isinstance(entry, Real) for entry in array.flat):
            array = array.astype(np.float64)  # integers of any length, fractions
        with np.errstate(over="ignore"):  # of longer floats: inf is told of by whoever asked
            return array.astype(np.float64, copy=False) if array.dtype.kind in "fiub" else None
    except Exception:  # rows of different lengths, or whatever a class of the caller's raises here
        return None


def whole(value: Any) -> int | None:
    """A whole number that 64 bits hold; None where it is none. 2.0 is a float."""
    try:
        found = operator.index(value)
    except TypeError:
        return None
    return found if -(2**63) <= found < 2**64 else None


def step_count(who: str, steps: int, error: type[DovetailError] = SceneError) -> int:
    """A number of steps, 0 or more, that a computer can take."""
    if steps < 0:
        raise error(f"{who}: steps = {steps}; give 0 or more. To go back, keep the state and set it again.")
    if steps > MOST_STEPS:
        raise error(f"{who}: steps = {steps}; give {MOST_STEPS:,} at most, and call it again for more.")
    return int(steps)


def is_path(value: Any) -> bool:
    """Whether a value can name a file: text or a path without characters, or of a length, that no file system takes."""
    try:
        parts = os.fsencode(value).split(os.sep.encode())
        return isinstance(os.fspath(value), str) and all(len(part) < 256 and b"\0" not in part for part in parts)
    except (TypeError, ValueError):
        return False


# --- signatures ---------------------------------------------------------------------------------------------


class _Rule(NamedTuple):
    """What an annotation admits, and how a message calls that."""

    admits: Callable[[Any], bool]
    wanted: str

    def complaint(self, value: Any) -> str | None:
        """What is wrong with a value; a class can have a method `flaw` that tells of what is broken in itself."""
        if not self.admits(value):
            return f"= {shown(value)}; give {self.wanted}"
        flaw = getattr(type(value), "flaw", None)
        return None if flaw is None else flaw(value)


def checked(error: type[DovetailError]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Refuse arguments of another kind than the function's annotations say, with an error of this class."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        who = function.__qualname__.removesuffix(".__init__")
        rules: dict[str, _Rule | None] = {}
        placed: list[tuple[int, str, _Rule]] = []  # the place of each parameter that does not admit anything

        @functools.wraps(function)
        def call(*given: _P.args, **named: _P.kwargs) -> _R:
            if not rules:
                rules.update(_rules(function))
                placed.extend((k, name, rule) for k, (name, rule) in enumerate(rules.items()) if rule is not None)
            for place, name, rule in placed:
                if place >= len(given):
                    break
                if wrong := rule.complaint(given[place]):
                    raise error(f"{who}: {name} {wrong}.")
            for name, value in named.items():
                known = rules.get(name)
                if known is not None and (wrong := known.complaint(value)):
                    raise error(f"{who}: {name} {wrong}.")
            return function(*given, **named)

        return call

    return decorate


def _rules(function: Callable[..., Any]) -> dict[str, _Rule | None]:
    """What each parameter admits, in order; None: anything. Made at the first call, when all classes are there."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    found: dict[str, _Rule | None] = {}
    for name in names:
        written = function.__annotations__.get(name, "Any")
        alone = types.SimpleNamespace(__annotations__={name: written})
        try:
            hint = typing.get_type_hints(alone, function.__globals__)[name]
        except NameError:  # a name for type checkers only, which the function itself cannot know either
            hint = Any
        found[name] = _rule(hint)
    return found


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The members of a union; an alias (PEP 695), as NumPy's ArrayLike is from 2.5 on, is what it stands for."""
    while type(hint).__name__ == "TypeAliasType":
        hint = hint.__value__
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return tuple(kind for member in typing.get_args(hint) for kind in _kinds(member))
    return (hint,)


def _rule(hint: Any) -> _Rule | None:
    kinds = _kinds(hint)
    if len(kinds) == 1:
        (hint,) = kinds
    else:
        parts: list[_Rule | None] = []
        if set(kinds) >= _ARRAY_LIKE:  # a union itself, of much that is no number
            parts = [_Rule(lambda value: numbers(value) is not None, "numbers")]
            kinds = tuple(kind for kind in kinds if kind not in _ARRAY_LIKE)
        parts += [_rule(kind) for kind in kinds]
        rules = [part for part in parts if part is not None]
        if len(rules) < len(parts):
            return None
        texts = dict.fromkeys(rule.wanted for rule in rules)
        if _PATH.wanted in texts:  # text names files here
            rules = [rule for rule in rules if rule is not _PLAIN[str]]
            texts.pop(_PLAIN[str].wanted, None)
        return _Rule(lambda value: any(rule.admits(value) for rule in rules), " or ".join(texts))
    origin = typing.get_origin(hint) or hint
    if origin in _PLAIN:
        return _PLAIN[origin]
    if origin in (os.PathLike,):
        return _PATH
    if origin is Callable:
        return _Rule(callable, "a function")
    if not isinstance(origin, type) or origin in (Any, object):
        return None
    if getattr(origin, "_is_protocol", False) and not getattr(origin, "_is_runtime_protocol", False):
        return None  # for type checkers alone
    entries = [_rule(entry) for entry in typing.get_args(hint)]
    if issubclass(origin, (list, typing.Sequence)) and entries and entries[0] is not None:
        entry = entries[0]
        return _Rule(
            lambda value: isinstance(value, (list, tuple)) and all(entry.admits(item) for item in value),
            f"a list of {entry.wanted}",
        )
    name = origin.__name__
    article = "an" if name[0] in "AEIOUaeio" else "a"
    return _Rule(lambda value: isinstance(value, origin), f"{article} {name}")


def _is_flag(value: Any) -> bool:
    return isinstance(value, (bool, int, np.bool_, np.integer))


_ARRAY_LIKE = set(_kinds(ArrayLike))
_PATH = _Rule(is_path, "the path of a file")
_PLAIN: dict[Any, _Rule] = {
    bool: _Rule(_is_flag, "True or False"),
    float: _Rule(lambda value: number(value) is not None, "a number"),
    int: _Rule(lambda value: whole(value) is not None, "a whole number"),
    str: _Rule(lambda value: isinstance(value, str), "text"),
    type(None): _Rule(lambda value: value is None, "None"),
}
