"""The state of a world between two frames, kept in memory or in a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Self

from dovetail.checked import checked
from dovetail.errors import WorldError
from dovetail.files import atomic_write
from dovetail.typing import Array
from dovetail.world.dump import header_flaw, pack, read_content, unpack

__all__ = ["WorldState"]


@dataclass(frozen=True)
class WorldState:
    """Everything the next step depends on besides the scene's attributes; made by `World.state`.

    | | |
    |---|---|
    | `frame` | the frame it is the state of |
    | `scene` | fingerprint of the scene; only a world with the same one takes the state |
    | `arrays` | copies of the solver's arrays by name |
    """

    frame: int
    scene: str = field(repr=False)
    arrays: dict[str, Array] = field(repr=False)

    def sealed(self) -> Self:
        """A copy whose arrays cannot be written to: a world looks at it once, and takes it at once from then on."""
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        for array in arrays.values():
            array.setflags(write=False)
        return type(self)(self.frame, self.scene, arrays)

    @property
    def is_sealed(self) -> bool:
        """Whether its numbers are those that it was made with."""
        return not any(array.flags.writeable or array.base is not None for array in self.arrays.values())

    @checked(WorldError)
    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, whole or not at all; one that exists is replaced."""
        try:
            atomic_write(Path(path), pack(self.frame, self.scene, self.arrays))
        except OSError as error:
            raise WorldError(f"WorldState.save: cannot write '{path}': {error.strerror or error}.") from error

    @classmethod
    @checked(WorldError)
    def load(cls, path: str | PathLike[str]) -> Self:
        """The state in a file that `save` wrote; nothing in it is executed."""
        try:
            header, arrays = unpack(read_content(Path(path)))
            if flaw := header_flaw(header):
                raise ValueError(f"it {flaw}")
            return cls(header["frame"], str(header["scene"]), arrays)
        except OSError as error:
            raise WorldError(f"WorldState.load: cannot read '{path}': {error.strerror or error}.") from error
        except Exception as error:  # a damaged archive can fail anywhere in zip, NumPy or JSON
            raise WorldError(f"WorldState.load: '{path}' is damaged or not a saved state ({error!s:.200}).") from None
