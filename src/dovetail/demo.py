"""What `make demo` runs: tumbling boxes and a triple pendulum on a motor, with a progress bar and a summary.

Three weightless boxes spin, each mainly about another of its axes; the one on its middle axis flips over again and
again, as a tennis racket does. Beside them a motor turns the first of three hinged rods at a constant speed; the second
hinge is free, the third has stops. Only public calls are used, and no file is left behind.
"""

from __future__ import annotations

import tempfile
import time
from typing import TYPE_CHECKING

import numpy as np

from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
)
from dovetail.core import AffineBodyStateAccessorFeature, Engine, Scene, World
from dovetail.geometry import SimplicialComplex, SimplicialComplexSlot, trimesh
from dovetail.scene.animator import UpdateInfo
from dovetail.typing import Array

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["Demo", "main"]

_DT = 0.001  # s
_FRAMES = 10_000
_MOTOR_SPEED = 3.0  # rad/s
_STOP = np.deg2rad(90.0)
_INTERRUPTED = 130  # what shells report for a program ended by Ctrl-C
_FACES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def _boxes(size: tuple[float, float, float], centres: list[tuple[float, float, float]]) -> SimplicialComplex:
    """Wooden boxes with these edges [m], one instance per centre."""
    corners = (np.indices((2, 2, 2)).reshape(3, 8).T - 0.5) * np.array(size)
    boxes = trimesh(corners, _FACES)
    AffineBodyConstitution().apply_to(boxes, kappa=1e8, mass_density=600.0)
    boxes.instances.resize(len(centres))
    boxes.instances["transform"][:, :3, 3] = centres
    return boxes


class Demo:
    """The scene, its world, and the tables of the summary."""

    def __init__(self, workspace: str) -> None:
        integrator = {"type": "bdf2", "bdf2_start": "bdf1"}
        self._scene = Scene({"dt": _DT, "integrator": integrator, "contact": {"enable": 0}})  # nothing ever touches
        self._boxes = self._tumble()
        self._rods = self._hang()
        self._hinges = [self._hinge(k) for k in range(3)]
        self.world = World(Engine("cpu", workspace))
        self.world.init(self._scene)
        self.iterations = 0
        self._energy_at_start = self._kinetic_energies()

    def _tumble(self) -> SimplicialComplexSlot:
        boxes = _boxes((0.3, 0.2, 0.1), [(-3.0, 0.0, 0.0), (-2.5, 0.0, 0.0), (-2.0, 0.0, 0.0)])
        boxes.instances.create("gravity", np.zeros(3))
        spins = [(4.0, 0.01, 0.01), (0.01, 4.0, 0.01), (0.01, 0.01, 4.0)]
        for velocity, (x, y, z) in zip(boxes.instances["velocity"], spins, strict=True):
            velocity[:3, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
        return self._add("boxes", boxes)

    def _hang(self) -> SimplicialComplexSlot:
        """A fixed block and three rods below it, one beside the other so that they could swing freely."""
        rods = _boxes((0.08, 0.5, 0.08), [(0.5, -0.5 * k, 0.1 * k) for k in range(4)])
        rods.instances["is_fixed"][0] = 1
        return self._add("rods", rods)

    def _hinge(self, k: int) -> SimplicialComplexSlot:
        """The hinge between rods k and k + 1, with its axis along z."""
        start = np.array([[0.5, -0.5 * k - 0.25, 0.1 * k]])
        end = start + np.array([0.0, 0.0, 0.1])
        joint = AffineBodyRevoluteJoint().create_geometry(start, end, [self._rods], [k], [self._rods], [k + 1], 1000.0)
        if k == 0:
            AffineBodyDrivingRevoluteJoint().apply_to(joint, strength_ratio=1000.0)
            joint.edges["driving/is_constrained"] = 1
        elif k == 2:
            AffineBodyRevoluteJointLimit().apply_to(joint, lower=-_STOP, upper=_STOP, strength=1e3)
        slot = self._add(f"hinge {k + 1}", joint)
        if k == 0:
            self._scene.animator.insert(self._scene.objects.find("hinge 1")[0], self._turn)
        return slot

    def _turn(self, info: UpdateInfo) -> None:
        """The motor: its target runs ahead at a constant speed."""
        self._hinges[0].geometry.edges["aim_angle"] = _MOTOR_SPEED * info.dt() * info.frame()

    def _add(self, name: str, geometry: SimplicialComplex) -> SimplicialComplexSlot:
        slot, _ = self._scene.objects.create(name).geometries.create(geometry)
        assert isinstance(slot, SimplicialComplexSlot)
        return slot

    def advance(self) -> None:
        """Compute the next frame."""
        self.world.advance()
        assert self.world.report is not None
        self.iterations += self.world.report.iterations

    def _states(self, slot: SimplicialComplexSlot) -> tuple[Array, Array]:
        """Transforms of the bodies of a geometry and their rates, both (n, 4, 4)."""
        accessor = self.world.features().find(AffineBodyStateAccessorFeature)
        assert accessor is not None
        offset = int(slot.geometry.meta["backend_abd_body_offset"][0])
        state = accessor.create_geometry(offset, slot.geometry.instances.size())
        state.instances.create("transform", np.eye(4))
        state.instances.create("velocity", np.zeros((4, 4)))
        accessor.copy_to(state)
        return state.instances["transform"], state.instances["velocity"]

    def _kinetic_energies(self) -> Array:
        """½ m v² + ½ tr(Ȧ S Ȧᵀ) of each box [J]; the origin of a box is its centre of mass."""
        meta, (_, rates) = self._boxes.geometry.meta, self._states(self._boxes)
        m, S = meta["abd_mass"][0], meta["abd_mass_x_bar_x_bar"][0]
        v, dA = rates[:, :3, 3], rates[:, :3, :3]
        energies: Array = 0.5 * m * np.einsum("bx,bx->b", v, v) + 0.5 * np.einsum("bxi,ij,bxj->b", dA, S, dA)
        return energies

    def body_table(self) -> Table:
        """Where every body is, and by how much the energy of the free ones has drifted."""
        from rich.table import Table

        table = Table("body", title="Bodies")
        for heading in ("x, m", "y, m", "z, m", "speed, m/s", "energy drift"):
            table.add_column(heading, justify="right")
        drift = self._kinetic_energies() / self._energy_at_start - 1.0
        for slot, names, remarks in (
            (self._boxes, ["box, long axis", "box, middle axis", "box, short axis"], [f"{d:+.1e}" for d in drift]),
            (self._rods, ["block", "rod 1", "rod 2", "rod 3"], ["fixed", "driven", "driven", "driven"]),
        ):
            transforms, rates = self._states(slot)
            for name, position, v, remark in zip(names, transforms[:, :3, 3], rates[:, :3, 3], remarks, strict=True):
                numbers = [f"{value + 0.0:.3f}" for value in (*np.round(position, 3), np.linalg.norm(v))]
                table.add_row(name, *numbers, remark)
        return table

    def joint_table(self) -> Table:
        """Angle, gap and reaction of every hinge, and what the motor needs."""
        from rich.table import Table

        self.world.retrieve()
        table = Table("hinge", title="Joints")
        for heading in ("angle, °", "gap, m", "reaction, N", "motor, N·m"):
            table.add_column(heading, justify="right")
        for slot, name in zip(self._hinges, ["1, motor", "2, free", "3, stops at ±90°"], strict=True):
            edges = slot.geometry.edges
            table.add_row(
                name,
                f"{np.rad2deg(edges['angle/multi_turn'][0]):.1f}",
                f"{edges['gap'][0]:.1e}",
                f"{np.linalg.norm(edges['reaction/force'][0]):.1f}",
                f"{edges['driving/effort'][0]:.2f}" if "driving/effort" in edges else "",
            )
        return table


def _run(demo: Demo, frames: int, console: Console) -> float:
    """Compute all frames under a progress bar; the seconds they took.

    The clock starts after the first frame, which may have to compile kernels.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    pace = TextColumn("{task.fields[pace]}")
    with Progress(TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), pace, console=console) as progress:
        bar = progress.add_task("", total=frames, pace="")
        demo.advance()
        start = time.perf_counter()
        for done in range(2, frames + 1):
            demo.advance()
            if done % 50 == 0 or done == frames:
                rate = (done - 1) / (time.perf_counter() - start)
                text = f"{rate:,.0f} steps/s, {demo.iterations / done:.1f} Newton iterations/step"
                progress.update(bar, completed=done, pace=text)
        progress.update(bar, completed=frames)
        return time.perf_counter() - start


def main(frames: int = _FRAMES) -> int:
    """Run the demo and print its summary; the exit code: 0, or 130 after Ctrl-C."""
    from rich.console import Console

    console = Console()
    demo: Demo | None = None
    with tempfile.TemporaryDirectory(prefix="dovetail-demo-") as workspace:
        try:
            demo = Demo(workspace)
            seconds = _run(demo, frames, console)
            console.print(demo.body_table(), demo.joint_table())
        except KeyboardInterrupt:
            done = 0 if demo is None else demo.world.frame()
            console.print(f"Stopped after {done} of {frames} frames ({done * _DT:.3f} s of simulated time).")
            return _INTERRUPTED
    console.print(f"{frames * _DT:g} s of simulated time in {seconds:.2f} s, steps of {_DT * 1e3:g} ms.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
