"""What all handles of a `Sim` share: a name that is misspelt is an error that names the nearest, and one thread at a
time uses the world behind them.
"""

from __future__ import annotations

import difflib
from typing import Any

from dovetail.world_lock import WorldLock, lock_public

__all__ = ["Handle"]


class Handle:
    """An object whose public names are those that its class has or announces; no others can be read or set.

    Its methods and properties are used by one thread at a time, that which has the lock of the world.
    """

    _announced: frozenset[str] = frozenset()
    _lock: WorldLock

    def __init_subclass__(cls) -> None:
        listed = (key for kind in cls.__mro__ for key in vars(kind).get("__annotations__", ()))
        cls._announced = frozenset(key for key in listed if not key.startswith("_"))
        lock_public(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in self._announced and not hasattr(type(self), name):
            raise AttributeError(self._unknown(name))
        if isinstance(own := getattr(type(self), name, None), property) and own.fset is None:
            can = (key for key in dir(type(self)) if getattr(getattr(type(self), key), "fset", None) is not None)
            raise AttributeError(f"{type(self).__name__}.{name} can be read, not set; these can: {', '.join(can)}.")
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):  # a property whose own code raised an AttributeError, which Python drops
            return object.__getattribute__(self, name)
        raise AttributeError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        public = sorted(key for key in {*dir(type(self)), *self._announced} if not key.startswith("_"))
        near = difflib.get_close_matches(name, public, 1, 0.5)
        advice = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(public)}."
        return f"{type(self).__name__} has no '{name}'; {advice}"
