"""Files that an MJCF robot is made of, before they are compiled: none outside of its folders, and not too large."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dovetail.messages import shortened
from dovetail.robot.paths import Folders
from dovetail.robot.xml import Element, read_xml

__all__ = ["check_files"]

_DIRECTORIES = ("meshdir", "texturedir", "assetdir")
_DEEPEST, _MOST_FILES, _MOST_DIRECTORIES = 20, 1000, 10
_MOST_COPIES, _MOST_HEIGHTS = 10_000, 25_000_000


def check_files(file: Path, folders: Folders) -> None:
    """Refuse document types, circles of includes, files outside of the robot's folders, and too much of it all.

    A name is looked for where the compiler might find it: beside the file, and in the folders that a <compiler> names.
    """
    done, todo = set[Path](), [(file, [file.resolve()])]
    while todo:
        path, chain = todo.pop()
        if chain[-1] in done:
            continue
        done.add(chain[-1])
        root = read_xml(path)
        if root.tag not in ("mujoco", "mujocoinclude"):
            root.refuse(f"the file begins with <{root.tag}>; an MJCF file begins with <mujoco>.")
        _check_size(root)
        for element, found in _named_files(root, folders):
            if element.tag not in ("include", "model"):
                continue
            if found in chain:
                element.refuse("includes go in a circle.")
            if len(chain) > _DEEPEST:
                element.refuse(f"includes are nested more than {_DEEPEST} deep.")
            if len(done) >= _MOST_FILES:
                element.refuse(f"the robot is made of more than {_MOST_FILES} files, which none needs.")
            todo.append((found, [*chain, found]))


def _named_files(root: Element, folders: Folders) -> Iterator[tuple[Element, Path]]:
    """Elements that name files, with each file that this may be."""
    elements = _all_below(root)
    named = {each.attributes[name] for each in elements for name in each.attributes if name in _DIRECTORIES}
    if len(named) > _MOST_DIRECTORIES:
        root.refuse(f"it names more than {_MOST_DIRECTORIES} folders of files, which no robot needs.")
    inner = ["", *named, *(f"{a}/{b}" for a in named for b in named)]
    for element in elements:
        for name, value in element.attributes.items():
            if not name.startswith("file") or not value.strip():
                continue
            for folder in inner:
                try:
                    path = root.file.parent / folder / value
                    if path.is_file():
                        yield element, folders.inside(path)
                except (ValueError, OSError) as error:
                    element.refuse(f'<{element.tag}> has {name}="{shortened(value)}", which {error}.')


def _check_size(root: Element) -> None:
    """Refuse small elements that are large when they are compiled; whatever is not found here, the limits end."""
    todo = [(root, 1.0)]
    for element, copies in todo:
        if element.tag == "replicate":
            copies *= _count(element, "count")
            if copies > _MOST_COPIES:
                element.refuse(f"<replicate> makes {copies:.3g} copies; no robot needs more than {_MOST_COPIES}.")
        if element.tag == "hfield" and _count(element, "nrow") * _count(element, "ncol") > _MOST_HEIGHTS:
            element.refuse(f"<hfield> has more than {_MOST_HEIGHTS} heights, and none of them would be made.")
        todo += [(child, copies) for child in element.children]


def _count(element: Element, name: str) -> float:
    """A number that is a factor; the compiler says what is wrong with any other."""
    try:
        return max(1.0, float(element.attributes.get(name, "1")))
    except ValueError:
        return 1.0


def _all_below(root: Element) -> list[Element]:
    found = [root]
    for element in found:
        found += element.children
    return found
