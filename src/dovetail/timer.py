"""Where the time goes: nested wall-clock timers that cost almost nothing while switched off.

In a script:

    Timer.enable_all()
    with Timer("solve"):
        ...
    Timer.report()
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

__all__ = ["Timer"]


class _Node:
    """All visits of one name below one parent, merged."""

    __slots__ = ("children", "count", "duration", "name", "parent")

    def __init__(self, name: str, parent: _Node | None) -> None:
        self.name = name
        self.parent = parent
        self.count = 0
        self.duration = 0.0
        self.children: dict[str, _Node] = {}

    @property
    def path(self) -> str:
        return ("" if self.parent is None else self.parent.path) + "/" + self.name

    def slowest_first(self) -> list[_Node]:
        return sorted(self.children.values(), key=lambda node: -node.duration)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "parent": "" if self.parent is None else self.parent.path,
            "count": self.count,
            "duration": self.duration,
            "children": [child.to_json() for child in self.slowest_first()],
        }

    def lines(self, depth: int = 0) -> Iterator[str]:
        label = "  " * depth + self.name
        yield f"{label:<40} {1e3 * self.duration:12.3f} ms {self.count:8d} x"
        for child in self.slowest_first():
            yield from child.lines(depth + 1)


def _new_root() -> _Node:
    root = _Node("GlobalTimer", None)
    root.count = 1
    return root


class _Open(threading.local):
    """The innermost running timer of each thread (None: directly below the root)."""

    node: _Node | None = None


_on = False
_root = _new_root()
_open = _Open()
_lock = threading.Lock()


class Timer:
    """Measures a `with` block; timers opened inside become its children. Names below one parent are merged.

    `report` and `report_as_json` give the tree since the last report and start a new one. Durations are in
    seconds; the root's is the sum of its children. Threads share the tree, each with its own nesting.
    """

    __slots__ = ("_name", "_node", "_outer", "_start")

    def __init__(self, name: str) -> None:
        self._name = name
        self._node: _Node | None = None

    def __enter__(self) -> Timer:
        if _on:
            self._outer = _open.node
            parent = _root if self._outer is None else self._outer
            with _lock:
                node = parent.children.get(self._name)
                if node is None:
                    node = parent.children[self._name] = _Node(self._name, parent)
            _open.node = self._node = node
            self._start = time.perf_counter()
        return self

    def __exit__(self, *failure: object) -> None:
        node = self._node
        if node is not None:
            elapsed = time.perf_counter() - self._start
            with _lock:
                node.count += 1
                node.duration += elapsed
            _open.node = self._outer
            self._node = None

    @staticmethod
    def enable_all() -> None:
        """Measure from now on."""
        global _on
        _on = True

    @staticmethod
    def disable_all() -> None:
        """Stop measuring; what was measured stays until it is reported."""
        global _on
        _on = False

    @staticmethod
    def report() -> None:
        """Print the tree, slowest first, and start a new one."""
        print("\n".join(_harvest().lines()))

    @staticmethod
    def report_as_json() -> dict[str, Any]:
        """Return the tree as {name, parent, count, duration [s], children} and start a new one."""
        return _harvest().to_json()


def _harvest() -> _Node:
    """Take the finished tree away. A timer still running keeps its own branch, which is then lost."""
    global _root
    with _lock:
        finished, _root = _root, _new_root()
    finished.duration = sum(child.duration for child in finished.children.values())
    return finished
