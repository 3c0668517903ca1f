"""Taking back a step that is broken off, by an error or by Ctrl-C, wherever in it that happens.

Python raises an interrupt between any two of its instructions: half of what belongs together may be set. What outlives
a step is therefore kept at its start, most of it by reference, for steps put new arrays in place of such; and what is
derived from it, and shared by steps to save work, is derived anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dovetail.solver.model import Model
from dovetail.solver.state import State
from dovetail.typing import Array

__all__ = ["Copies", "keep"]


class Copies:
    """Arrays that steps change in place, and room for a copy of each."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._pairs = [(array, array.copy()) for array in arrays if array.size]

    def keep(self) -> None:
        """Copy the arrays as they are now."""
        for array, kept in self._pairs:
            kept[:] = array

    def undo(self) -> None:
        """Bring the arrays back to what they were when they were kept."""
        for array, kept in self._pairs:
            array[:] = kept


def keep(model: Model, state: State) -> Callable[[], None]:
    """A function that goes back to what is now; it may itself be broken off and called again."""
    potential = model.potential
    parts = [state.keep(), potential.soft_transforms.keep(), model.directions.keep()]
    if model.contact is not None:
        parts.append(model.contact.keep())

    def undo() -> None:
        for part in parts:
            part()
        for shared in (potential, model.islands, model.start, potential.exact):
            if shared is not None:
                shared.renew()

    return undo
