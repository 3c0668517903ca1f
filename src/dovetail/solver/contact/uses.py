"""Attributes of contact by which it is noticed that others than marches have looked for contacts.

A machine that stands (standing.py) marches on what the last step has left, as long as that speaks of the same state. To
ask contact itself would take as long as a tenth of the step, so `uses` counts what was said of anything else.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Counted"]


class Counted:
    """A tuple that says for whom something was found: `uses` of its owner goes up where that becomes somebody else.

    It is read as an attribute like any other.
    """

    _name: str

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __set__(self, owner: Any, value: tuple[Any, ...]) -> None:
        known = owner.__dict__.get(self._name)
        owner.__dict__[self._name] = value
        if known is None or value[0] is not known[0] or value[1] != known[1]:
            owner.uses[0] += 1
