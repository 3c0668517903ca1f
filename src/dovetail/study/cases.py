"""Cases of a study and their results: plain values by name, so that a line of JSON holds them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from dovetail.checked import shown
from dovetail.errors import StudyError

__all__ = ["OWN", "Case", "Row", "grid", "plain", "work"]

_MOST_CASES = 10_000_000
Case = dict[str, Any]
Row = dict[str, Any]
OWN = ("case", "seed", "error", "seconds")
"""Columns of every table: the number of the case, the seed of the study, what went wrong, and how long it took."""


def grid(**axes: Iterable[Any]) -> list[Case]:
    """All combinations of the values given by name; the last name varies fastest."""
    lists, count = [], 1
    for name, values in axes.items():
        try:
            some = iter(values)
        except TypeError:
            raise StudyError(f"grid: {name} = {shown(values)}; give several values, as a list") from None
        lists.append(list(itertools.islice(some, _MOST_CASES + 1)))
        count *= len(lists[-1])
        if count > _MOST_CASES:
            raise StudyError(f"grid: there are more than {_MOST_CASES:,} cases up to {name}; give fewer values")
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*lists)]


def plain(values: Any, who: str) -> Row:
    """A mapping of names to numbers, texts, truth values, None, and lists of them; NumPy's become Python's."""
    if not isinstance(values, Mapping):
        raise StudyError(f"{who} is a {type(values).__name__}; give a dict of names and values")
    found = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise StudyError(f"{who} has the name {shown(name)}, a {type(name).__name__}; names are texts")
        if name in OWN:
            raise StudyError(f"{who} has the name '{name}', which every table has itself ({', '.join(OWN)}); rename it")
        found[name] = _plain(value, f"{who}: '{name}'")
    return found


def _plain(value: Any, who: str) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(each, who) for each in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise StudyError(
        f"{who} is a {type(value).__name__}, which a table cannot hold; give numbers, texts, or lists of them"
    )


def work(run: Callable[[Case, np.random.Generator], Any], number: int, case: Case, seed: int) -> Row:
    """The row of a case, an error in place of results where `run` fails; this is what workers do.

    The generator is that of child `number` of SeedSequence(seed): the same wherever and whenever the case is run.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    row: Row = {"case": number, "seed": seed, **case}
    began = time.perf_counter()
    error, found = None, {}
    try:
        found = plain(run(dict(case), rng), f"what {getattr(run, '__name__', 'run')} has returned")
        twice = sorted(set(found) & set(case))
        if twice:
            raise StudyError(f"the result '{twice[0]}' has the name of a parameter of the case; rename one of them")
    except Exception as problem:
        error, found = f"{type(problem).__name__}: {problem}", {}
    return {**row, **found, "error": error, "seconds": round(time.perf_counter() - began, 6)}
