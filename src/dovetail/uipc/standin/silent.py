"""An object that takes whatever is done to it: for the parts of a window nobody looks at."""

from __future__ import annotations

from typing import Any

__all__ = ["Silent"]


class Silent:
    """Has every attribute and method; what is set can be read back (`x = 1`, `set_x(1)` and then `get_x()`).

    Methods return the object itself, so that calls can be chained.
    """

    def __init__(self, **known: Any) -> None:
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith("set_"):
            return lambda *values, **named: self._keep(name[4:], values)
        if name.startswith("get_"):
            return lambda *values, **named: self.__dict__.get(f"_{name[4:]}")
        return Silent()

    def _keep(self, name: str, values: tuple[Any, ...]) -> Silent:
        if values:
            self.__dict__[f"_{name}"] = values[0]
        return self

    def __call__(self, *values: Any, **named: Any) -> Silent:
        return self

    def __bool__(self) -> bool:
        return False

    def __int__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0

    def __index__(self) -> int:
        return 0

    def __or__(self, other: Any) -> int:
        return int(other)

    __ror__ = __or__
