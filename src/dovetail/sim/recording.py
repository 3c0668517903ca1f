"""Recordings of a `Sim` in progress."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from dovetail.io.recorder import Recorder

if TYPE_CHECKING:
    from dovetail.sim.sim import Sim

__all__ = ["Recording"]


class Recording:
    """A recording in progress; it begins with the first step after it was asked for."""

    def __init__(
        self, sim: Sim, among: list[Recording], path: str | PathLike[str], every: int, overwrite: bool
    ) -> None:
        """`among`: those in progress, of which it is one until it is closed."""
        self._sim, self._among = sim, among
        self._path = path
        self._every, self._overwrite = every, overwrite
        self._recorder: Recorder | None = None

    @property
    def begun(self) -> bool:
        """Whether something was written."""
        return self._recorder is not None

    def begin(self) -> None:
        """Write the present frame, if nothing was written yet."""
        if self._recorder is None:
            self._recorder = Recorder(self._path, self._sim.world, every=self._every, overwrite=self._overwrite)
            self._recorder.write()

    def write(self) -> None:
        assert self._recorder is not None
        self._recorder.write()

    def close(self) -> None:
        """End the recording."""
        if self._recorder is not None:
            self._recorder.close()
        if self in self._among:
            self._among.remove(self)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
