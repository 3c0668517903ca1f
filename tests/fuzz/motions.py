"""Steps random scenes of ordinary sizes and checks every few steps: python motions.py SCENES SEED [FIRST].

Bodies are thrown at each other, pressed by drives, hung on joints, rubbed with friction up to 5, and a robot is hit.
All integrators take turns. A scene fails if two surfaces intersect (exact arithmetic, tests/intersection.py), if a body
is strained by more than a half and stores more than there was, if a speed appears that nothing can give, or if a step
raises. Prints counts as JSON; the seeds of scenes that fail come first.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import trimesh

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parents[1]))

from intersection import assert_apart  # noqa: E402

from dovetail import Sim  # noqa: E402
from dovetail.errors import SceneError, SolverError  # noqa: E402
from dovetail.sim.body import Body  # noqa: E402

MANY = 100  # Newton iterations of a step, or of each of its parts
STRAINED = 0.5
EVERY = 5  # steps between checks for intersections
KINDS = ("throw", "heap", "hinged", "press", "robot", "changes", "grinder")


class Scene:
    """A random scene and what it is expected to keep to."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.integrator = ("ctr", "bdf1", "bdf2")[seed // len(KINDS) % 3]
        self.size, self.bodies, self.ignored = 10.0 ** rng.uniform(-1.5, 0.0), list[Body](), list[frozenset[str]]()
        dt = float(rng.choice([0.01, 0.01, 0.005, 0.002]))
        self.speed = min(10.0 ** rng.uniform(-0.5, 2.0), 0.5 * self.size / dt * 10.0)
        friction = float(rng.choice([0.0, 0.3, 0.8, 1.5, 5.0]))
        self.sim = Sim(dt=dt, integrator=self.integrator, friction=friction)
        self.sim.ground()
        self.presses = self.kind == "press"
        getattr(self, f"_{self.kind}")()

    # ---- bodies --------------------------------------------------------------------------------------------------

    def body(self, pos: Any, velocity: Any = (0, 0, 0), least: float = 0.3) -> Body:
        """A body of about the size of the scene, of any shape."""
        rng, size = self.rng, self.size * self.rng.uniform(least, 1.0)
        rot = rng.normal(size=4)
        options: dict[str, Any] = {
            "pos": pos, "velocity": velocity, "rot": tuple(rot / np.linalg.norm(rot)),
            "spin": rng.normal(size=3) * rng.choice([0.0, 3.0, 20.0]),
            "restitution": float(rng.choice([0.0, 0.0, 0.5, 1.0])), "density": 10.0 ** rng.uniform(2.0, 4.0),
        }  # fmt: skip
        shape = rng.integers(5)
        if shape == 0:
            body = self.sim.box(tuple(size * rng.uniform(0.1, 1.0, 3)), **options)
        elif shape == 1:
            body = self.sim.cylinder(0.4 * size, size * rng.uniform(0.1, 1.0), detail=int(rng.integers(3)), **options)
        elif shape == 2:
            body = self.sim.mesh(trimesh.creation.icosphere(int(rng.integers(1, 3)), 0.5 * size), **options)
        elif shape == 3:
            hull = trimesh.convex.convex_hull(rng.normal(size=(int(rng.integers(6, 30)), 3)) * 0.3 * size)
            body = self.sim.mesh(hull, **options)
        else:  # a needle
            body = self.sim.box((0.05 * size, 0.05 * size, size), **options)
        self.bodies.append(body)
        return body

    def unit(self) -> np.ndarray:
        v = self.rng.normal(size=3)
        return v / np.linalg.norm(v)

    def _grid(self, count: int) -> list[np.ndarray]:
        """Places that are apart by more than the size, above the ground."""
        side = int(np.ceil(count ** (1 / 3)))
        places = [np.array([i, j, k + 1.0]) for k in range(side) for i in range(side) for j in range(side)]
        return [2.0 * self.size * (place + np.array([0.0, 0.0, 0.3])) for place in places[:count]]

    # ---- kinds ---------------------------------------------------------------------------------------------------

    def _throw(self) -> None:
        """Bodies that fly towards a common point."""
        places = self._grid(int(self.rng.integers(2, 8)))
        middle = np.mean(places, axis=0)
        for place in places:
            aim = middle + 0.3 * self.size * self.rng.normal(size=3) - place
            self.body(place, self.speed * aim / max(np.linalg.norm(aim), 1e-9))

    def _heap(self) -> None:
        for k in range(int(self.rng.integers(4, 12))):
            at = self.rng.uniform(-0.5, 0.5, 2) * self.size
            self.body((*at, 1.2 * self.size * (k + 1)), (0, 0, -0.2 * self.speed))

    def _hinged(self) -> None:
        """Chains of bodies on joints of all kinds, that fall into each other."""
        last: Body | None = None
        for place in self._grid(int(self.rng.integers(3, 9))):
            body = self.body(place, self.rng.normal(size=3) * 0.3 * self.speed)
            if last is not None and self.rng.random() < 0.7:
                self._join(last, body, 0.5 * (last.pos + body.pos))
            last = body

    def _join(self, one: Body | None, other: Body, at: Any) -> None:
        sim, kind, exact = self.sim, self.rng.integers(4), bool(self.rng.random() < 0.7)
        if kind == 0:
            sim.spherical(one, other, pos=at, exact=exact)
        elif kind == 1:
            limit = (-0.5, 0.8) if self.rng.random() < 0.3 else None
            sim.revolute(one, other, pos=at, axis=self.unit(), exact=exact, limit=limit)
        elif kind == 2:
            sim.prismatic(one, other, pos=at, axis=self.unit(), exact=exact)
        else:
            sim.fixed(one, other, pos=at, exact=exact)
        if one is not None:
            self.ignored.append(frozenset((f"{one.name}[0]", f"{other.name}[0]")))

    def _press(self) -> None:
        """A driven plate that squeezes bodies against the ground."""
        s = self.size
        for k in range(int(self.rng.integers(1, 4))):
            self.body((0, 0, s * (1.3 * k + 0.8)))
        top = s * (1.3 * len(self.bodies) + 1.0)
        plate = self.sim.box((3 * s, 3 * s, 0.2 * s), pos=(0, 0, top), density=2000.0)
        slide = self.sim.prismatic(None, plate, axis=(0, 0, 1), pos=plate.pos)
        slide.drive.target_velocity = -float(self.rng.choice([0.2, 1.0, 5.0])) * s
        slide.drive.max_effort = plate.mass * 9.81 * 10.0 ** self.rng.uniform(0.5, 3.0)
        self.bodies.append(plate)

    def _robot(self) -> None:
        """A driven arm that is hit by bodies."""
        self.size, self.speed = 0.2, min(self.speed, 70.0)
        robot = self.sim.robot(str(ROOT / "examples/robots/arm7.urdf"), pos=(0, 0, 0.55))
        robot.hold()
        links = [body.name for body in self.sim.bodies]
        self.ignored += [frozenset((f"{a}[0]", f"{b}[0]")) for i, a in enumerate(links) for b in links[:i]]
        for k in range(int(self.rng.integers(1, 4))):
            pos = np.array([*self.rng.uniform(-0.5, 0.5, 2), 1.9 + 0.4 * k])
            self.body(pos, (np.array([0, 0, 0.7]) - pos) / 1.3 * self.speed)

    def _changes(self) -> None:
        self._heap()

    def _grinder(self) -> None:
        """A driven rotor among bodies in a box without a lid."""
        s = self.size
        for axis in range(2):
            for sign in (-1, 1):
                size, pos = [0.2 * s, 4.4 * s, 4 * s], [sign * 2.1 * s, 0, 2.02 * s]
                if axis:
                    size[:2], pos[:2] = [4.0 * s - 0.02 * s, 0.2 * s], [0, sign * 2.1 * s]
                self.sim.box(tuple(size), pos=tuple(pos), fixed=True)
        blade = self.sim.box((2.6 * s, 0.3 * s, 0.3 * s), pos=(0, 0, 0.6 * s), density=2000.0)
        hinge = self.sim.revolute(None, blade, pos=blade.pos, axis=(0, 0, 1))
        hinge.drive.target_velocity = float(self.rng.uniform(1.0, 15.0))
        if self.rng.random() < 0.5:
            hinge.drive.max_effort = 50.0 * blade.mass * 9.81 * s
        self.bodies.append(blade)
        for k in range(int(self.rng.integers(3, 8))):
            self.body((*self.rng.uniform(-0.8, 0.8, 2) * s, s * (1.5 + 1.1 * k)), least=0.3)

    # ---- what happens ----------------------------------------------------------------------------------------------

    def change(self) -> None:
        """A body comes, goes or is pushed."""
        kind = self.rng.random()
        if kind < 0.4 or len(self.bodies) < 3:
            top = max(body.pos[2] for body in self.bodies)
            self.body((0, 0, max(top, 0.0) + 2 * self.size))
        elif kind < 0.7:
            body = self.bodies.pop(int(self.rng.integers(len(self.bodies))))
            self.sim.remove(body)
        else:
            body = self.bodies[int(self.rng.integers(len(self.bodies)))]
            body.velocity = self.rng.normal(size=3) * self.speed * 0.3

    def strain(self) -> tuple[float, str]:
        """The largest strain of a body, and its name."""
        worst, name = 0.0, ""
        for body in self.bodies:
            A = body.transform[:3, :3]
            found = float(np.abs(A.T @ A - np.eye(3)).max()) if np.isfinite(A).all() else np.inf
            if not found <= worst:
                worst, name = found, body.name
        return worst, name


def run(seed: int, told: Counter[str], slow: dict[str, float]) -> str:
    """What is wrong with the scene of this seed, or an empty string."""
    scene = Scene(seed)
    sim, steps = scene.sim, int(scene.rng.integers(20, 60))
    fastest = 0.0
    for k in range(steps):
        if scene.kind == "changes" and k % 6 == 5:
            try:
                scene.change()
                sim.step(0)
            except SceneError:
                told["refused"] += 1
        try:
            before = sum(sim.energy.values())
            begun = time.perf_counter()
            sim.step()
            took = time.perf_counter() - begun
        except SceneError:
            if k == 0:
                told["impossible"] += 1  # bodies that were placed into each other
                return ""
            told["refused"] += 1
            sim.remove(scene.bodies.pop())
            continue
        except SolverError as error:
            return f"step {k}: {type(error).__name__}: {error}"
        report = sim.world.report
        told["steps"] += 1
        told["many"] += report.iterations > MANY * report.parts
        told["parts"] += report.parts > 1
        told["unconverged"] += not report.converged
        told["iterations"] += report.iterations
        if report.iterations > MANY * report.parts:
            slow[f"{seed}:{k}, {scene.kind}, {report.parts} parts"] = report.iterations
        if k > 0 and took > 1.0:
            slow[f"{seed}:{k} s"] = round(took, 1)
        strain, name = scene.strain()
        stored = sim.energy["shape"]
        if strain > STRAINED and not scene.presses and not stored < 2.0 * before:
            return f"step {k}: {name} is strained by {strain:.3g}, with {stored:.3g} J where there were {before:.3g} J"
        speeds = [float(np.linalg.norm(body.velocity)) for body in scene.bodies]
        if k == 0:
            fastest = max(*speeds, scene.speed, 10.0)
        fastest = max(fastest, scene.speed)
        if max(speeds) > 30.0 * fastest:
            return f"step {k}: a speed of {max(speeds):.3g} m/s"
        if k % EVERY == EVERY - 1 or k == steps - 1 or report.parts > 1 or not report.converged:
            sim.sync()
            try:
                assert_apart(sim.scene, scene.ignored)
            except AssertionError as error:
                return f"step {k}: {error}"
    return ""


def main(scenes: int, seed: int, first: int = 0) -> None:
    warnings.simplefilter("ignore")
    logging.getLogger("dovetail").setLevel(logging.CRITICAL)
    told, failures, slow = Counter[str](), dict[str, str](), dict[str, float]()
    for k in range(first, first + scenes):
        number = seed * 1_000_000 + k
        try:
            wrong = run(number, told, slow)
        except Exception as error:  # a fuzzer tells of all
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            failures[str(number)] = wrong
            print(number, KINDS[number % len(KINDS)], wrong, file=sys.stderr, flush=True)
    print(json.dumps({"failures": failures, "slow": slow, **told}))


if __name__ == "__main__":
    faulthandler.enable()
    main(*map(int, sys.argv[1:]))
