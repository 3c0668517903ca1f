"""What `make demo` runs: a press that feeds parts to a gate, with a table of joint states and a replay for the browser.

    motor ── crank ── rod ── ram ═ head →  magazine of parts  →  gate  →  tray

A motor (a driven hinge) turns a crank; a rod, with a hinge at the crank and a ball at the ram, pushes the ram along its
slide, which has stops. The head, welded to the ram, pushes the lowest part out of the magazine. Parts fall on a gate
that a constant torque holds closed; it gives way to their weight, and they slide into a tray on a slider, which a joint
force carries like a spring scale. Every joint of the specification takes part, with limits, a drive, a joint force and
a joint torque, and everything touches. Only public calls are used.
"""

from __future__ import annotations

import tempfile
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.sim import Sim
from dovetail.sim.joint import PrismaticJoint, RevoluteJoint

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dovetail.sim.body import Body

__all__ = ["FRAMES", "Press", "build", "main"]

FRAMES = 1000
_DT = 0.01  # s
_SPEED = 6.0  # rad/s of the crank
_PARTS = 8
_PART = 0.09  # m
_TABLE = 0.60  # m, height
_CRANK, _ROD = 0.08, 0.32  # m
_WIDTH = _PART + 0.008  # m; parts have some play in the magazine
_HIGH = _PARTS * (_PART + 0.002) + 0.02  # m; of the magazine
_AXIS = _TABLE + 0.055  # m; height of the crank's axis and of the ram
_GATE_TORQUE = -1.1  # N·m; holds the gate and one part
_SCALE = 150.0, 25.0  # N/m, N·s/m
_COLOURS = ("#d1495b", "#2e8b8b", "#edae49", "#6a5acd", "#3c9d5a", "#f07f5a", "#b565b5", "#4f7cac")
_INTERRUPTED = 130  # what shells report for a program ended by Ctrl-C

_Part = tuple[tuple[float, float, float], tuple[float, float, float]]
_FRAME: list[_Part] = [  # size and place of the boxes that it consists of
    ((0.54, 0.16, 0.03), (-0.085, 0.0, _TABLE - 0.015)),  # table
    ((0.04, 0.16, _TABLE - 0.032), (-0.22, 0.0, (_TABLE - 0.028) / 2)),  # its legs
    ((0.04, 0.16, _TABLE - 0.032), (0.10, 0.0, (_TABLE - 0.028) / 2)),
    ((0.04, 0.03, _AXIS + 0.03), (-0.62, 0.06, (_AXIS + 0.034) / 2)),  # post of the crank
    *(  # sides of the magazine, open below for the head and the part
        ((0.012, _WIDTH + 0.024, _HIGH - _PART - 0.012), (x, 0.0, _TABLE + (_HIGH + _PART + 0.012) / 2))
        for x in (-_WIDTH / 2 - 0.006, _WIDTH / 2 + 0.006)
    ),
    ((_WIDTH, 0.012, _HIGH), (0.0, _WIDTH / 2 + 0.006, _TABLE + _HIGH / 2)),  # its back, and rails in front
    *(((0.018, 0.012, _HIGH), (x, -_WIDTH / 2 - 0.006, _TABLE + _HIGH / 2)) for x in (-0.038, 0.038)),
]
_GATE: list[_Part] = [
    ((0.26, 0.14, 0.012), (0.13, 0.0, 0.0)),
    ((0.26, 0.01, 0.046), (0.13, 0.075, 0.017)),
    ((0.26, 0.01, 0.046), (0.13, -0.075, 0.017)),
]
_TRAY: list[_Part] = [
    ((0.50, 0.38, 0.02), (0.0, 0.0, 0.0)),
    ((0.50, 0.02, 0.12), (0.0, 0.20, 0.05)),
    ((0.50, 0.02, 0.12), (0.0, -0.20, 0.05)),
    ((0.02, 0.42, 0.12), (0.26, 0.0, 0.05)),
    ((0.02, 0.42, 0.07), (-0.26, 0.0, 0.025)),
]


class Press:
    """The machine as a simulation, with handles for its parts."""

    def __init__(self) -> None:
        # everything here is in contact nearly all the time, which takes its steps as bdf1 in any case
        self.sim = sim = Sim(dt=_DT, friction=0.35, integrator="bdf1")
        sim.ground()
        frame = self._composed("frame", _FRAME, (0.0, 0.0, 0.0), "#9aa3ad", fixed=True)
        on_its_side = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
        crank = sim.cylinder(0.10, 0.025, pos=(-0.62, 0.02, _AXIS), rot=on_its_side, color="#b5382e", name="crank")
        pin = np.array([-0.62 - _CRANK, -0.01, _AXIS])  # the ram is drawn back at the start
        wrist = pin + np.array([_ROD, 0.0, 0.0])
        rod = sim.box((_ROD + 0.03, 0.02, 0.03), pos=(pin + wrist) / 2, color="#d9a520", name="rod")
        ram = sim.box((0.26, 0.06, 0.05), pos=wrist + np.array([0.14, 0.01, 0.0]), color="#4682b4", name="ram")
        front = ram.pos + np.array([0.142, 0.0, -0.010])
        # lower than the ram, so that a part that has come down on the ram slides off it when it is drawn back
        head = sim.box((0.02, 0.084, 0.066), pos=front, color="#1f3a68", name="head")
        self.gate = self._composed("gate", _GATE, (0.21, 0.0, 0.44), "#e8822a", density=500.0)
        self.tray = self._composed("tray", _TRAY, (0.52, 0.0, 0.21), "#3f8f63", density=300.0)
        self.motor = sim.revolute(frame, crank, pos=crank.pos, axis=(0, 1, 0), drive=0.0, name="motor")
        self.motor.drive.stiffness = 1e6  # gains of its own: it follows a target that runs, however fast, without lag
        sim.revolute(crank, rod, pos=pin, axis=(0, 1, 0), name="crank pin")
        sim.spherical(rod, ram, pos=wrist, name="wrist")
        self.slide = sim.prismatic(frame, ram, axis=(1, 0, 0), limit=(-0.005, 2 * _CRANK + 0.005), name="slide")
        sim.fixed(ram, head, name="weld")
        self.hinge = sim.revolute(
            frame, self.gate, pos=self.gate.pos, axis=(0, 1, 0), limit=(0.0, 1.1), name="gate hinge"
        )
        self.hinge.torque = _GATE_TORQUE
        self.scale = sim.prismatic(None, self.tray, axis=(0, 0, 1), limit=(-0.15, 0.05), name="scale")
        self.parts = [self._part(k) for k in range(_PARTS)]
        self._weight = 9.81 * self.tray.mass
        sim.before_step(self._control)

    def _composed(
        self, name: str, parts: list[_Part], pos: tuple[float, float, float], color: str, **more: float
    ) -> Body:
        """A body of boxes."""
        import trimesh

        boxes = [trimesh.creation.box(size, trimesh.transformations.translation_matrix(at)) for size, at in parts]
        whole = trimesh.util.concatenate(boxes)
        return self.sim.mesh(whole, pos=pos, color=color, name=name, **more)  # type: ignore[arg-type]  # flags among them

    def _part(self, k: int) -> Body:
        """Boxes and cylinders in turn, one above the other."""
        z = _TABLE + 0.002 + _PART / 2 + k * (_PART + 0.0015)
        if k % 2:
            return self.sim.cylinder(
                _PART / 2, _PART, pos=(0, 0, z), density=600.0, color=_COLOURS[k], name=f"part {k + 1}"
            )
        return self.sim.box(_PART, pos=(0, 0, z), density=600.0, color=_COLOURS[k], name=f"part {k + 1}")

    def _control(self) -> None:
        """Before every step: the motor's target runs ahead, and the scale answers to its load."""
        self.motor.drive.target = _SPEED * (self.sim.time + _DT)
        stiffness, damping = _SCALE
        self.scale.force = self._weight - stiffness * self.scale.distance - damping * self.scale.velocity

    @property
    def delivered(self) -> int:
        """How many parts lie in the tray."""
        low, high = self.tray.point((-0.26, -0.2, 0.0)), self.tray.point((0.26, 0.2, 0.4))
        return sum(bool((low < part.center).all() and (part.center < high).all()) for part in self.parts)

    def table(self) -> Table:
        """What every joint says now."""
        from rich import box
        from rich.table import Table

        table = Table(
            "joint", "kind", title=f"Joints after {self.sim.time:.2f} s", box=box.SIMPLE, padding=(0, 1, 0, 0)
        )
        for heading in ("position", "limit", "per s", "reaction", "load"):
            table.add_column(heading, justify="right", no_wrap=True)
        for joint in self.sim.joints:
            moving = _moving(joint) if isinstance(joint, (RevoluteJoint, PrismaticJoint)) else ("", "", "", "")
            where, limit, velocity, load = moving
            reaction = f"{np.linalg.norm(joint.reaction.force):.1f} N"
            table.add_row(joint.name, joint.kind.split()[0], where, limit, velocity, reaction, load)
        return table


def _moving(joint: RevoluteJoint | PrismaticJoint) -> tuple[str, str, str, str]:
    """Coordinate, limit, velocity, and what drives or loads it."""
    if isinstance(joint, RevoluteJoint):
        x, load, unit, effort = joint.angle, joint.torque, "rad", "N·m"
    else:
        x, load, unit, effort = joint.distance, joint.force, "m", "N"
    limit = "" if joint.limit is None else f"{joint.limit[0]:g}…{joint.limit[1]:g}"
    load = joint.drive.effort or load
    x, v = (round(value, 3) + 0.0 for value in (x, joint.velocity))  # and no −0
    return f"{x:.3f} {unit}", limit, f"{v:.3f}", f"{load:.2f} {effort}" if load else ""


def build() -> Sim:
    """The showcase as a simulation, for `dovetail run` and for looking at it live."""
    return Press().sim


def _free_name(folder: Path) -> Path:
    """A name for the replay that no file has yet."""
    names = ("dovetail-demo.html", *(f"dovetail-demo-{k}.html" for k in range(2, 1000)))
    return next((folder / name for name in names if not (folder / name).exists()), folder / names[-1])


def _run(press: Press, recording: Path, frames: int) -> tuple[float, float]:
    """Compute all frames under a progress bar, each second one recorded; seconds of the first step and of the others.

    The first step compiles kernels, if that has never been done on this machine.
    """
    began = first = time.perf_counter()
    with press.sim.record(recording, every=2):
        for frame in press.sim.run(frames, progress=True):
            if frame == 1:
                first = time.perf_counter()
    return first - began, time.perf_counter() - first


def _show(console: Console, recording: Path, folder: Path) -> None:
    """Write the replay, say where it is, and open it where somebody sits in front of a screen."""
    from dovetail.errors import MissingExtra
    from dovetail.viewer import replay
    from dovetail.viewer.server import has_screen

    try:
        path = replay(recording, _free_name(folder))
    except MissingExtra as error:
        console.print(f"No replay: {error}", highlight=False)
        return
    console.print(f"Replay, for any browser: [bold]{path.resolve()}[/bold]", highlight=False, soft_wrap=True)
    console.print(f"  {path.resolve().as_uri()}", highlight=False, soft_wrap=True)
    if console.is_terminal and has_screen():
        webbrowser.open(path.resolve().as_uri())


def main(frames: int = FRAMES, folder: str | Path = ".") -> int:
    """Run the demo, print its summary, write a replay into `folder`; the exit code: 0, or 130 after Ctrl-C."""
    from rich.console import Console

    console = Console()
    console.print(
        "A press that feeds parts to a gate: a motor, a crank, a ram, eight loose parts, every kind of joint, and "
        f"contact between all of them. {frames} frames of {_DT * 1e3:g} ms, then a replay for the browser."
    )
    press = Press()
    with tempfile.TemporaryDirectory(prefix="dovetail-demo-") as workspace:
        recording = Path(workspace) / "dovetail demo.dove"
        try:
            first, others = _run(press, recording, frames)
        except KeyboardInterrupt:
            done = press.sim.frame
            console.print(f"Stopped after {done} of {frames} frames ({press.sim.time:.3f} s of simulated time).")
            return _INTERRUPTED
        console.print(press.table())
        console.print(
            f"{press.delivered} of {_PARTS} parts delivered. {press.sim.time:g} s of simulated time in {others:.1f} s "
            f"after a first step of {first:.1f} s; steps of {_DT * 1e3:g} ms, {len(press.sim.contacts)} contacts at "
            f"the end, largest joint gap {max(joint.gap for joint in press.sim.joints):.0e} m."
        )
        _show(console, recording, Path(folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
