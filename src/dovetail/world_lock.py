"""One thread at a time in a world: the others wait for the call that it is in, steps included.

    class Body(Handle): …            # public methods and properties of handles are `locked`, each by its own `_lock`

The thread that has the lock may call again: animations and `before_step` use the world that runs them. An error or
Ctrl-C gives it back. A process is forked between two calls, never in the middle of one.
"""

from __future__ import annotations

import _thread
import os
import time
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["WorldLock", "at_any_time", "lock_public", "locked", "stepping"]

_LONGEST = 5e-3  # [s] for which a thread lets those that wait go first
_LOOK = 5e-5  # [s] between two looks whether they have
_Kind = TypeVar("_Kind", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])


class WorldLock(_thread.RLock):  # type: ignore[misc]  # in type stubs it has no heirs, in Python it may
    """Is entered without Python in between: an interrupt comes before it is taken, or where it is given back.

    is_long    whether the present call is a step, which may take long
    waiting    an entry for each thread that waits for a step, or to take one: who comes later lets these go first
    """

    def __init__(self) -> None:
        self.is_long, self.waiting = False, list[None]()
        _locks.add(self)

    def __reduce__(self) -> Any:
        return WorldLock, ()  # a copy of a world is a world of its own

    def let_others_go(self) -> None:
        """Wait until those that wait have had the lock, or for a while."""
        end = time.monotonic() + _LONGEST
        while self.waiting and time.monotonic() < end:
            time.sleep(_LOOK)
        self.waiting.clear()  # of threads that were interrupted while they waited


def locked(function: _Function) -> _Function:
    """A method that runs while its thread alone has the `_lock` of the object."""

    @wraps(function)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        lock = self._lock
        if lock._is_owned():
            return function(self, *given, **named)
        if lock.waiting:
            lock.let_others_go()
        if waits := lock.is_long:
            lock.waiting.append(None)
        with lock:
            if waits:
                del lock.waiting[:1]
            return function(self, *given, **named)

    return call  # type: ignore[return-value]


def _locked_get(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same for reading a property, in half the time."""

    @wraps(function)
    def get(self: Any) -> Any:
        lock = self._lock
        if lock._is_owned():
            return function(self)
        if lock.waiting:
            lock.let_others_go()
        if waits := lock.is_long:
            lock.waiting.append(None)
        with lock:
            if waits:
                del lock.waiting[:1]
            return function(self)

    return get


def stepping(function: _Function) -> _Function:
    """A method that runs in the same way and takes a step; one after the other, others come in between."""

    @wraps(function)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        lock = self._lock
        if lock._is_owned():
            return function(self, *given, **named)
        if lock.waiting:
            lock.let_others_go()
        lock.waiting.append(None)
        with lock:
            del lock.waiting[:1]
            lock.is_long = True
            try:
                return function(self, *given, **named)
            finally:
                lock.is_long = False

    call.at_any_time = True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def at_any_time(function: _Function) -> _Function:
    """A public method that does not wait for steps, though those of its class do."""
    function.at_any_time = True  # type: ignore[attr-defined]
    return function


def lock_public(kind: _Kind) -> _Kind:
    """Have all public methods and properties that a class defines `locked`."""
    for name, found in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(found, property):
            if not hasattr(found.fget, "at_any_time"):
                get, put = found.fget and _locked_get(found.fget), found.fset and locked(found.fset)
                setattr(kind, name, property(get, put, doc=found.__doc__))
        elif isinstance(found, FunctionType) and not hasattr(found, "at_any_time"):
            setattr(kind, name, locked(found))
    return kind


_locks: WeakSet[WorldLock] = WeakSet()
_taken: list[WorldLock] = []  # while the process is forked


def _take_all() -> None:
    for lock in list(_locks):
        lock.acquire()
        _taken.append(lock)


def _give_back() -> None:
    while _taken:
        _taken.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_give_back, after_in_child=_give_back)
