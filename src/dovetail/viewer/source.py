"""What a viewer shows: a world that runs while one looks, or a recording that is played."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from dovetail.core import AffineBodyStateAccessorFeature, World
from dovetail.errors import ViewerError
from dovetail.io.cast import Cast
from dovetail.io.describe import describe
from dovetail.io.recording import Recording
from dovetail.typing import Array
from dovetail.viewer.stage import ShownContacts

__all__ = ["Moment", "Played", "Running", "Source", "joint_offsets"]


class Moment(NamedTuple):
    """A frame: its number, time [s], transforms (n, 4, 4), contacts, numbers of joints per group, energies [J]."""

    frame: int
    time: float
    transforms: Array
    contacts: ShownContacts
    joints: list[Array]
    energies: dict[str, float]
    iterations: int


class Source(Protocol):
    """Where frames come from."""

    cast: Cast
    name: str
    title: str

    @property
    def time(self) -> float:
        """Of the present frame [s]."""

    def advance(self) -> bool:
        """Go on by one frame; False where there is none."""

    def reset(self) -> None:
        """Back to the first frame."""

    def moment(self) -> Moment:
        """The present frame."""


class Running:
    """A world. Looking at it begins at its present frame, and a reset goes back to that one, bit for bit."""

    name = "running world"
    title = "dovetail"

    def __init__(self, world: World) -> None:
        self.world = world
        self._described = describe(world)
        self.cast = self._described.cast()
        self._start = world.state()
        accessor = world.features().find(AffineBodyStateAccessorFeature)
        assert accessor is not None
        self._accessor = accessor
        self._states = accessor.create_geometry()
        self._states.instances.create("transform", np.eye(4))
        self._states.instances.create("velocity", np.zeros((4, 4)))

    @property
    def time(self) -> float:
        return self.world.time()

    @property
    def dt(self) -> float:
        """The length of the next step [s]."""
        return float(self.world.scene.config["dt"])

    def advance(self) -> bool:
        self.world.advance()
        return True

    def reset(self) -> None:
        self.world.restore(self._start)

    def velocities(self) -> tuple[Array, Array]:
        """Transforms of all bodies and their rates, both (n, 4, 4)."""
        self._accessor.copy_to(self._states)
        return self._states.instances["transform"], self._states.instances["velocity"]

    def moment(self) -> Moment:
        self.world.retrieve()
        transforms, _ = self.velocities()
        report = self.world.report
        return Moment(
            self.world.frame(),
            self.time,
            transforms.copy(),
            self.world.contacts(),
            self._described.joint_rows(),
            self.world.energies(),
            0 if report is None else report.iterations,
        )


class Played:
    """A recording."""

    def __init__(self, recording: Recording) -> None:
        if len(recording) == 0:
            raise ViewerError(f"view: '{recording.path}' has no frames; record some first.")
        self.cast = recording.cast
        self.name = recording.path.name
        self.title = f"{recording.path.stem} · dovetail"
        self._recording = recording
        self._times = recording.times
        self._at = 0

    @property
    def time(self) -> float:
        return float(self._times[self._at])

    @property
    def frames(self) -> int:
        return len(self._times)

    @property
    def at(self) -> int:
        """Which frame is shown."""
        return self._at

    def seek(self, frame: int) -> None:
        """Go to a frame; beyond the ends to the nearest."""
        self._at = min(max(frame, 0), len(self._times) - 1)

    def advance(self) -> bool:
        if self._at + 1 >= len(self._times):
            return False
        self._at += 1
        return True

    def reset(self) -> None:
        self._at = 0

    def moment(self) -> Moment:
        read = self._recording.read(self._at)
        energies = self._recording.energies(self._at)
        transforms = self._recording.transforms(self._at)
        return Moment(read.frame, read.time, transforms, read.contacts, read.joints, energies, read.iterations)


def joint_offsets(states: list[dict[str, float | Array]]) -> Array:
    """init_angle or init_distance of every joint: where its limits count from."""
    return np.array([state.get("init_angle", state.get("init_distance", 0.0)) for state in states], float)
