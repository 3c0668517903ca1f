"""Constitutions a scene announces: their UIDs and types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dovetail.builtin import ConstitutionUIDCollection
from dovetail.checked import shown
from dovetail.errors import SceneError

__all__ = ["ConstitutionTabular"]


class _Constitution(Protocol):
    def uid(self) -> int: ...


class ConstitutionTabular:
    """The constitutions inserted by the user. Optional: a world finds those of the geometries by itself."""

    def __init__(self) -> None:
        self._uids: set[int] = set()

    def __call__(self) -> Self:
        return self

    def insert(self, constitution: _Constitution) -> None:
        """Announce a constitution; repeating it changes nothing."""
        uid = getattr(constitution, "uid", None)
        if not callable(uid):
            raise SceneError(
                f"ConstitutionTabular: {shown(constitution)} is not a constitution; insert an instance such as "
                "AffineBodyConstitution()."
            )
        self._uids.add(int(uid()))

    def uids(self) -> NDArray[np.uint64]:
        """All UIDs, ascending."""
        return np.array(sorted(self._uids), np.uint64)

    def types(self) -> set[str]:
        """All types: 'AffineBody', 'InterAffineBody', 'Constraint', …"""
        register = ConstitutionUIDCollection.instance()
        return {register.find(uid).type for uid in self._uids}

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._uids))

    def __len__(self) -> int:
        return len(self._uids)
