"""Worlds beside MuJoCo's rollout, at equal simulated time: python benchmarks/worlds_beside.py [--part 0.1] [--write]

The same functions build the same machines in both engines: chains, driven arms with contact on, quadrupeds that stand,
and four-bar linkages, which have a loop. Of each engine: the least processor time by world and 10 ms of simulated time,
on one thread, and over half a second the largest gap in a joint and how deep anything is in the ground, from poses.
`--write` puts the table into docs/worlds.md. Needs mujoco.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout
from worlds import SCENES, Y

from dovetail import Worlds
from dovetail.bench.comparison import machine
from dovetail.bench.tables import length

PAGE = Path(__file__).parents[1] / "docs" / "worlds.md"
BEGIN, END = "<!-- beside: begin; written by benchmarks/worlds_beside.py -->", "<!-- beside: end -->"
DT, STEPS, WATCHED, ROUNDS = 0.01, 50, 8, 3  # [s], steps measured, worlds whose errors are looked at, repetitions
GAIN, LEVER = 500.0, 0.02  # N·m/rad of MuJoCo's drives, critically damped; m, half of a pin whose ends are looked at


def four_bar(sim: Any, rng: np.random.Generator) -> None:
    """A driven crank, a coupler and a rocker."""
    places = [np.array(p, float) for p in ((0, 0, 1), (0.1, 0, 1.2), (0.5, 0, 1.35), (0.45, 0, 1))]
    links = []
    for p, q in pairwise(places):
        (x, _, z), far = q - p, float(np.linalg.norm(q - p))
        rot = np.array([[x, 0, -z], [0, far, 0], [z, 0, x]]) / far
        links.append(sim.box((far, 0.02, 0.02), pos=(p + q) / 2, rot=rot, mass=rng.uniform(0.1, 0.2)))
    crank, coupler, rocker = links
    sim.revolute(None, crank, pos=places[0], axis=Y, drive=0.0)
    sim.revolute(crank, coupler, pos=places[1], axis=Y)
    sim.revolute(coupler, rocker, pos=places[2], axis=Y)
    sim.revolute(None, rocker, pos=places[3], axis=Y)


@dataclass
class Box:
    size: Any
    pos: Any
    mass: float
    rot: Any
    parent: int = -1
    joint: int = -1


class Drawing:
    """What a build makes, written down, and MuJoCo's model of it: joints that close loops become `connect`."""

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.joints: list[dict[str, Any]] = []
        self.on_ground = False

    def ground(self) -> None:
        self.on_ground = True

    def box(self, size: Any, pos: Any, mass: float, rot: Any = None) -> int:
        self.boxes.append(Box(np.array(size, float), np.array(pos, float), mass, np.eye(3) if rot is None else rot))
        return len(self.boxes) - 1

    def revolute(self, left: int | None, right: int, pos: Any, axis: Any, limit: Any = None, drive: Any = None) -> None:
        joint = {"left": -1 if left is None else left, "right": right, "pos": np.array(pos, float)}
        self.joints.append({**joint, "axis": np.array(axis, float), "limit": limit, "drive": drive})
        if self.boxes[right].joint < 0:
            self.boxes[right].joint, self.boxes[right].parent = len(self.joints) - 1, joint["left"]

    def pose(self, body: int) -> tuple[Any, Any]:
        return (np.eye(3), np.zeros(3)) if body < 0 else (self.boxes[body].rot, self.boxes[body].pos)

    def model(self, substeps: int, contact: bool) -> Any:
        spec = mujoco.MjSpec()
        spec.option.timestep, spec.option.gravity = DT / substeps, [0.0, 0.0, -9.81]
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        made = {-1: spec.worldbody}
        for k, box in enumerate(self.boxes):  # parents are made before their children
            R, p = self.pose(box.parent)
            body = made[k] = made[box.parent].add_body()
            body.name, body.pos, body.quat = f"b{k}", R.T @ (box.pos - p), quaternion(R.T @ box.rot)
            geom = body.add_geom()
            geom.type, geom.size, geom.mass = mujoco.mjtGeom.mjGEOM_BOX, 0.5 * box.size, box.mass
            geom.friction[0] = 0.5
            geom.contype = geom.conaffinity = int(contact)
            if box.joint >= 0:
                self._hinge(spec, body, box, self.joints[box.joint], f"j{box.joint}")
            else:
                body.add_freejoint()
        for k, joint in enumerate(self.joints):
            if self.boxes[joint["right"]].joint != k:
                R, p = self.pose(joint["right"])
                equality = spec.add_equality()
                equality.type, equality.objtype = mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtObj.mjOBJ_BODY
                equality.name1 = f"b{joint['right']}"
                equality.name2 = "world" if joint["left"] < 0 else f"b{joint['left']}"
                equality.data[:3] = R.T @ (joint["pos"] - p)
        if self.on_ground:
            ground = spec.worldbody.add_geom()
            ground.type, ground.size = mujoco.mjtGeom.mjGEOM_PLANE, [0.0, 0.0, 1.0]
            ground.friction[0] = 0.5
        return spec.compile()

    @staticmethod
    def _hinge(spec: Any, body: Any, box: Box, joint: dict[str, Any], name: str) -> None:
        hinge = body.add_joint()
        hinge.name, hinge.type = name, mujoco.mjtJoint.mjJNT_HINGE
        hinge.pos, hinge.axis = box.rot.T @ (joint["pos"] - box.pos), box.rot.T @ joint["axis"]
        if joint["limit"] is not None:
            hinge.limited, hinge.range = 1, joint["limit"]
        if joint["drive"] is not None:
            drive = spec.add_actuator()
            drive.set_to_position(kp=GAIN, dampratio=1.0)
            drive.trntype, drive.target = mujoco.mjtTrn.mjTRN_JOINT, name

    # --- errors ---------------------------------------------------------------------------------------------

    def gap(self, poses: Any) -> float:
        """Largest distance [m] of the ends of pins in their two bodies, for poses (f, n, 4, 4)."""
        largest = 0.0
        for joint in self.joints:
            for side in (-1, 1):
                point, ends = joint["pos"] + side * LEVER * joint["axis"], []
                for body in (joint["left"], joint["right"]):
                    R, p = self.pose(body)
                    T = np.eye(4)[None] if body < 0 else poses[:, body]
                    ends.append(T[:, :3, :3] @ (R.T @ (point - p)) + T[:, :3, 3])
                largest = max(largest, float(np.linalg.norm(ends[0] - ends[1], axis=1).max()))
        return largest

    def depth(self, poses: Any) -> float:
        """How deep a corner is below the ground [m]; 0 where there is none."""
        signs = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), axis=-1).reshape(-1, 3)
        lowest = 0.0
        for k, box in enumerate(self.boxes if self.on_ground else ()):
            heights = poses[:, k, 2, :3] @ (0.5 * box.size * signs).T + poses[:, k, 2, 3:]
            lowest = min(lowest, float(heights.min()))
        return -lowest


def quaternion(R: Any) -> Any:
    out = np.empty(4)
    mujoco.mju_mat2Quat(out, np.ascontiguousarray(R).reshape(-1))
    return out


class Own:
    """dovetail: worlds with one thread."""

    def __init__(self, build: Any, n: int, options: dict[str, Any]) -> None:
        self.worlds = Worlds(build, n, dt=DT, **options)
        self.worlds.step(2)
        self._bodies = [[body.number for body in sim.bodies] for sim in list(self.worlds)[:WATCHED]]

    def run(self) -> float:
        self.worlds.reset()
        begin = time.process_time()
        self.worlds.step(STEPS)
        return time.process_time() - begin

    def poses(self) -> list[Any]:
        self.worlds.reset()
        frames = []
        for _ in range(STEPS):
            self.worlds.step()
            frames.append([self.worlds[k].world.live.transforms()[ours] for k, ours in enumerate(self._bodies)])
        return [np.array(frame) for frame in zip(*frames, strict=True)]


class MuJoCo:
    """mujoco.rollout with one thread; each step of 10 ms in so many."""

    def __init__(self, drawings: list[Drawing], substeps: int, contact: bool) -> None:
        self._models = [drawing.model(substeps, contact) for drawing in drawings]
        self._data, self._steps, self._substeps = mujoco.MjData(self._models[0]), STEPS * substeps, substeps
        spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.empty(mujoco.mj_stateSize(self._models[0], spec))
        mujoco.mj_getState(self._models[0], self._data, state, spec)
        self._start = np.tile(state, (len(drawings), 1))
        self._state = self.run()  # which also warms it up
        self._spec = spec

    def run(self) -> Any:
        begin = time.process_time()
        self._state, _ = rollout.rollout(self._models, [self._data], self._start, nstep=self._steps)
        return time.process_time() - begin

    def poses(self) -> list[Any]:
        out = []
        for model, states in list(zip(self._models, self._state, strict=True))[:WATCHED]:
            data, frames = mujoco.MjData(model), []
            ids = [model.body(f"b{k}").id for k in range(model.nbody - 1)]
            for state in states[self._substeps - 1 :: self._substeps]:
                mujoco.mj_setState(model, data, state, self._spec)
                mujoco.mj_kinematics(model, data)
                T = np.tile(np.eye(4), (len(ids), 1, 1))
                T[:, :3, :3], T[:, :3, 3] = data.xmat[ids].reshape(-1, 3, 3), data.xpos[ids]
                frames.append(T)
            out.append(np.array(frames))
        return out


def measured(build: Any, n: int, options: dict[str, Any]) -> list[tuple[float, float, float]]:
    """Time [µs] by world and 10 ms, gap and depth [m] of each engine; engines take turns."""
    sequences = np.random.SeedSequence(0).spawn(n)  # as Worlds does it
    drawings = [Drawing() for _ in range(n)]
    for drawing, sequence in zip(drawings, sequences, strict=True):
        build(drawing, np.random.default_rng(sequence))
    contact = options.get("contact", True)
    engines = [Own(build, n, options), *(MuJoCo(drawings, substeps, contact) for substeps in (1, 5))]
    times = [[engine.run() for engine in engines] for _ in range(ROUNDS)]
    out = []
    for engine, least in zip(engines, np.min(times, axis=0), strict=True):
        pairs = list(zip(drawings, engine.poses(), strict=False))
        worst = [max(getattr(d, name)(poses) for d, poses in pairs) for name in ("gap", "depth")]
        out.append((1e6 * float(least) / (n * STEPS), *worst))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="of the worlds")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    scenes = {name: (build, n, options) for name, (build, n, _, options) in SCENES.items()}
    scenes["four-bar linkages"] = four_bar, 256, {"contact": False}
    names = ("dovetail, 10 ms", "MuJoCo, 10 ms", "MuJoCo, 5 × 2 ms")
    lines = [f"| µs a world and 10 ms; joint gap; depth in the ground | worlds | {' | '.join(names)} |"]
    lines.append("|---" + "|---:" * 4 + "|")
    for name, (build, n, options) in scenes.items():
        count = max(1, int(given.part * n))
        cells = [f"{time:,.0f}; {length(gap)}; {length(depth)}" for time, gap, depth in measured(build, count, options)]
        lines.append(f"| {name} | {count} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if given.write:
        here = machine()
        busy = " of a busy machine" if (here["load"] or 0.0) > 0.5 * here["cores"] else ""
        note = f"Processor time of one thread, {here['processor']}{busy}; MuJoCo {mujoco.__version__}."
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        assert after, f"{PAGE.name} lacks the markers {BEGIN} and {END}"
        PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", note, "", END + after]), encoding="utf-8")


if __name__ == "__main__":
    main()
