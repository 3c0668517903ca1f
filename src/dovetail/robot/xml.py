"""XML as a tree that knows its lines; declarations that could make a file larger than it is are refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from dovetail.checked import LARGEST
from dovetail.errors import SceneError
from dovetail.messages import cut
from dovetail.typing import Array

__all__ = ["Element", "read_xml"]

_MOST_BYTES = 100_000_000
_MOST_ELEMENTS = 500_000
_DEEPEST = 200


@dataclass
class Element:
    """A tag with its attributes and children; `unread` is what of them nobody has asked for."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: Path
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """The text in it, between its children."""
    said: list[str] = field(default_factory=list)
    """What was read although it is not quite right, of all elements of the file."""
    _asked: set[str] = field(default_factory=set)

    @property
    def where(self) -> str:
        """Its place in the file."""
        return f"line {self.line}"

    def all(self, tag: str) -> list[Element]:
        """The children of a kind."""
        self._asked.add(f"<{tag}>")
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The child of a kind, None where there is none; several are refused."""
        found = self.all(tag)
        if len(found) > 1:
            found[1].refuse(f"<{self.tag}> has {len(found)} <{tag}>; give one.")
        return found[0] if found else None

    def needed(self, tag: str) -> Element:
        """The child of a kind, which must be there."""
        return self.one(tag) or self.refuse(f"<{self.tag}>{self._called} has no <{tag}>; it needs one.")

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute, which must be there unless a default is given."""
        self._asked.add(name)
        value = self.attributes.get(name, default)
        return self.refuse(f"<{self.tag}>{self._called} has no {name}; it needs one.") if value is None else value

    def numbers(self, name: str, count: int, default: str | None = None) -> Array:
        """An attribute of so many finite numbers."""
        given = self.text(name, default)
        words = given.replace(",", " ").split(None, count)  # a rest, however long, is one word too many
        if "," in given:
            self.said.append(f"{name} of <{self.tag}> has commas ({self.where}), taken for spaces")
        try:
            found = np.array([_number(word) for word in words])
        except ValueError:
            found = np.zeros(0)
        if len(found) != count or not (np.abs(found) <= LARGEST).all():
            wanted = "a finite number" if count == 1 else f"{count} finite numbers"
            self.refuse(f'<{self.tag}>{self._called} has {name}="{cut(given)}"; give {wanted}.')
        return found

    def number(self, name: str, default: str | None = None) -> float:
        """An attribute that is a finite number."""
        return float(self.numbers(name, 1, default)[0])

    def positive(self, name: str) -> float:
        """An attribute that is a number > 0."""
        value = self.number(name)
        return value if value > 0.0 else self.refuse(f'<{self.tag}> has {name}="{value:g}"; give a number > 0.')

    def at_least_zero(self, name: str, default: str | None = None) -> float:
        """An attribute that is a number ≥ 0."""
        value = self.number(name, default)
        return value if value >= 0.0 else self.refuse(f'<{self.tag}> has {name}="{value:g}"; give a number ≥ 0.')

    def refuse(self, what: str) -> NoReturn:
        """Say what is wrong here."""
        raise SceneError(f"reading '{self.file}', {self.where}: {what}")

    def unread(self) -> list[tuple[str, Element]]:
        """Attributes and children that nobody has asked for, and where they are."""
        found = [(f"{name} of <{self.tag}>", self) for name in self.attributes if name not in self._asked]
        for child in self.children:
            if f"<{child.tag}>" not in self._asked:
                found.append((f"<{child.tag}> in <{self.tag}>", child))
            elif child._asked:
                found += child.unread()
        return found

    @property
    def _called(self) -> str:
        name = self.attributes.get("name")
        return f" '{name}'" if name else ""


def _number(word: str) -> float:
    if "_" in word:  # Python's digits, nobody else's
        raise ValueError(word)
    value = float(word)
    return value if math.isfinite(value) else math.inf


def read_xml(file: Path) -> Element:
    """The outermost element of a file."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise SceneError(f"reading '{file}': it has more than {_MOST_BYTES:,} bytes, which no robot needs.")
        content = file.read_bytes()
    except OSError as error:
        raise SceneError(f"reading '{file}': {error.strerror or error}.") from None
    parser = expat.ParserCreate()
    # strictly, nothing may be before a declaration, and many files have empty lines there, or zeros at their end
    content = _without_zeros(content)
    begin = len(content) - len(content.lstrip())
    skipped = content.count(b"\n", 0, begin)
    outermost: list[Element] = []
    open_elements: list[Element] = []
    said: list[str] = []
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        element = Element(tag, attributes, parser.CurrentLineNumber + skipped, file, said=said)
        if count > _MOST_ELEMENTS:
            element.refuse(f"it has more than {_MOST_ELEMENTS:,} elements, which no robot needs.")
        if len(open_elements) >= _DEEPEST:
            element.refuse(f"elements are nested more than {_DEEPEST} deep.")
        (open_elements[-1].children if open_elements else outermost).append(element)
        open_elements.append(element)

    def declares(*_: object) -> NoReturn:
        raise SceneError(
            f"reading '{file}', line {parser.CurrentLineNumber + skipped}: it declares a document type or entities, "
            "which can blow a file up or read others; remove the declaration."
        )

    def text(content: str) -> None:
        open_elements[-1].texts.append(content)

    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    parser.buffer_text = True
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.StartDoctypeDeclHandler = declares
    parser.EntityDeclHandler = declares
    try:
        parser.Parse(content[begin:], True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise SceneError(f"reading '{file}': it is not XML ({error}).") from None
    return outermost[0]


def _without_zeros(content: bytes) -> bytes:
    """What is before the zeros at the end; the last letter of UTF-16-LE ends in one of its own."""
    end = len(content.rstrip(b"\0"))
    if content.startswith((b"\xff\xfe", b"<\0")):
        end += end % 2
    return content[:end]
