"""Arguments that are checked by the annotations of a function, numbers that are read, values that are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dovetail.checked import checked, is_path, number, numbers, shown, whole
from dovetail.errors import GeometryError
from dovetail.typing import ArrayLike


class Mesh:
    def __init__(self, broken: str = "") -> None:
        self.broken = broken

    def flaw(self) -> str | None:
        return self.broken or None


@checked(GeometryError)
def paint(
    mesh: Mesh,
    count: int = 1,
    share: float = 0.5,
    color: ArrayLike | None = None,
    path: str | PathLike[str] = "",
    names: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    then: Callable[[], None] | None = None,
    *,
    twice: bool = False,
    anything: Any = None,
    of_no_one: Unknown = None,  # noqa: F821  known to type checkers only
) -> str:
    return "painted"


def test_what_fits_the_annotations_passes():
    assert paint(Mesh()) == "painted"
    assert paint(Mesh(), np.int32(2), 1, (1, 0, 0), Path("x"), ["a"], {}, print, twice=True, anything=5) == "painted"
    assert paint(Mesh(), 2**63, Fraction(1, 3), None, "x", ("a",), None, None, of_no_one=3) == "painted"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mesh": 5}, "^paint: mesh = 5; give a Mesh.$"),
        ({"count": 2.0}, "count = 2.0; give a whole number"),
        ({"count": 2**64}, "give a whole number"),
        ({"count": "2"}, "give a whole number"),
        ({"share": "0.5"}, "share = '0.5'; give a number"),
        ({"share": [0.5]}, "give a number"),
        ({"share": 1j}, "give a number"),
        ({"share": 10**400}, "give a number"),
        ({"color": "red"}, "color = 'red'; give numbers or None"),
        ({"color": [[1], [1, 2]]}, "give numbers or None"),
        ({"path": 5}, "path = 5; give the path of a file"),
        ({"path": "a\0b"}, "give the path of a file"),
        ({"path": "x" * 300}, "give the path of a file"),
        ({"names": "abc"}, "names = 'abc'; give a list of text"),
        ({"names": ["a", 5]}, "give a list of text"),
        ({"options": []}, r"options = \[\]; give a Mapping or None"),
        ({"then": 5}, "then = 5; give a function or None"),
        ({"twice": "yes"}, "twice = 'yes'; give True or False"),
        ({"mesh": Mesh("has a hole; mend it")}, "^paint: mesh has a hole; mend it.$"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given, message):
    with pytest.raises(GeometryError, match=message):
        paint(**{"mesh": Mesh()} | given)
    if "mesh" in given:
        with pytest.raises(GeometryError, match=message):
            paint(given["mesh"])


def test_unknown_and_missing_arguments_are_pythons_to_refuse():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        paint()
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        paint(Mesh(), colour=(1, 0, 0))


@pytest.mark.parametrize(
    "value", ["1", b"1", None, 1j, object(), {1}, [1, None], [[1], [1, 2]], 10**400, np.array("x")]
)
def test_what_is_no_number_gives_none(value):
    assert numbers(value) is None and number(value) is None


def test_numbers_are_read_whatever_holds_them():
    for value in (3, 3.0, True + 2, np.float32(3), np.array(3), Fraction(3)):
        assert number(value) == 3.0 and type(number(value)) is float
    assert number([3]) is None
    np.testing.assert_array_equal(numbers([[1, 2], (3, 4)]), [[1.0, 2.0], [3.0, 4.0]])
    assert np.isnan(number(np.nan))
    assert whole(np.int8(3)) == 3 and whole(3.0) is None and whole(2**64) is None and whole(np.array([3])) is None


def test_paths_are_what_a_file_system_takes():
    assert is_path("a/b") and is_path(Path("a")) and is_path("ä" * 100)
    assert not any(map(is_path, (5, b"a", "a\0", "x" * 256, None)))


def test_values_are_shown_in_one_short_line():
    assert shown("x" * 200) == "'" + "x" * 76 + "..."
    assert "\n" not in shown(np.zeros((5, 5)))
    assert shown(10**5000) == "a value of type int"
    shown("\ud800").encode()  # a lone surrogate cannot be written to a terminal
