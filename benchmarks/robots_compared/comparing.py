"""What of a robot is compared with an oracle: statics at postures, a fall, and the step response of a drive."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import Sim
from dovetail.errors import DovetailError
from robots_compared.oracles import MuJoCo, NotComparedError, Oracle, Pinocchio, rebuilt

DT = 1e-3
"""Steps of falls and step responses [s]."""
SPAN = 0.5  # s
STATICS = ("frames", "mass", "matrix", "torques")
AGREES = {"frames": 1e-9, "mass": 1e-8, "matrix": 1e-8, "torques": 1e-8, "fall": 1e-2, "response": 1e-2}
"""Of statics, bodies between the joints of a body with several weigh a billionth of it each; all else is round-off.

Falls and responses are relative to the largest way that a coordinate goes: both are of second order in steps of 1 ms.
"""
_KAPPA = 1e10
"""Stiffness of the links' shapes [Pa]: with 1e8, wrists that spin at 200 rad/s strain by 2e-5, and motion shows it."""
_SPEED = 10.0  # rad/s of the drives whose response is compared, critically damped
_STEP = 0.1  # rad or, of sliders, that many tenths of a metre
_MOST = 40  # coordinates of robots that fall: equations of more take minutes
_FEW = 50  # steps that larger ones are timed for


def load(file: Path, folders: list[Path], dt: float = DT, **options: Any) -> tuple[Sim, Any]:
    sim = Sim(dt=dt, contact=False, kappa=_KAPPA)
    return sim, sim.robot(file, collision=None, visuals=False, folders=folders, **options)


def is_robot(file: Path) -> bool:
    """False of MJCF files that MuJoCo itself cannot read, such as parts of others, and of what has no joints."""
    from dovetail.robot.mjcf import Model

    if file.suffix == ".urdf" and "pybullet_data" in file.parts:  # most of them are things to grasp
        return "<joint" in file.read_text(encoding="utf-8", errors="replace")

    try:
        return file.suffix != ".xml" or Model(file).m.n["joint"] > 0
    except DovetailError:
        return False


def oracle_of(robot: Any, file: Path) -> Oracle:
    """That of the kind of file."""
    if file.suffix == ".urdf":
        return Pinocchio(robot, file)
    if file.suffix.startswith(".usd"):
        return rebuilt(robot)
    import mujoco

    from dovetail.robot.mjcf import Model

    known = Model(file)
    joints = {name: j for j, name in enumerate(known.joint_names) if name in robot.description.joints}
    bodies = {name: b for b, name in enumerate(known.body_names) if name in robot.frames and b}
    homes = [k for k, name in enumerate(known.m.names["key"]) if name == "home"]
    return MuJoCo(robot, mujoco.MjModel.from_xml_path(str(file)), joints, bodies, homes[0] if homes else -1)


def postures(robot: Any, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """q at the start, and then at random within limits, ±2 where there are none; of balls by less than half a turn."""
    yield robot.q.copy()
    low, high = robot.limits.T
    low, high = np.where(np.isfinite(low), low, -2.0), np.where(np.isfinite(high), high, 2.0)
    for k, name in enumerate(robot.names):
        if robot.coordinates[k].unit == "m":  # nobody slides for miles
            low[k], high[k] = max(low[k], robot.q[k] - 2.0), min(high[k], robot.q[k] + 2.0)
        if ".rotation_" in name or name.endswith(".ry"):  # of a Cardan angle by less than a quarter
            low[k], high[k] = max(low[k], -1.4), min(high[k], 1.4)
    for _ in range(1, count if len(robot.names) else 1):
        robot.q = rng.uniform(low, high)
        yield robot.q.copy()


def statics(robot: Any, oracle: Oracle, count: int, seed: int = 0) -> dict[str, float]:
    """The largest differences: of frames [m, –], and relative to the largest entry of mass matrices and torques."""
    errors, rng = dict.fromkeys(STATICS, 0.0), np.random.default_rng(seed)
    for q in postures(robot, count, rng):
        for name, T in oracle.frames(q).items():
            errors["frames"] = max(errors["frames"], float(np.abs(robot.frames[name].transform - T).max()))
        if not robot.names:
            continue
        robot.v = v = 0.5 * rng.normal(size=len(robot.names))
        M, bias = oracle.mass_matrix(q), oracle.bias(q, v)
        errors["matrix"] = max(errors["matrix"], float(np.abs(robot.mass_matrix() - M).max() / np.abs(M).max()))
        scale = max(float(np.abs(bias).max()), 1e-3 * 9.81 * robot.mass)
        errors["torques"] = max(errors["torques"], float(np.abs(robot.bias() - bias).max()) / scale)
        robot.v = np.zeros(len(robot.names))
    errors["mass"] = abs(robot.mass / oracle.mass - 1.0) if oracle.mass else robot.mass
    return errors


def on_stage(robot: Any, file: Path) -> dict[str, float]:
    """How far links are from where a USD stage has their prims [m, –], and masses from those that it gives.

    Robots that start within limits, and not as on their stage, are told of, and their frames not compared with it.
    """
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(file))
    metres, cache = UsdGeom.GetStageMetersPerUnit(stage), UsdGeom.XformCache()
    errors = {"frames": 0.0, "mass": 0.0}
    moved = any("starts at" in finding.text or "is open by" in finding.text for finding in robot.findings)
    for name, link in robot.description.links.items():
        prim = stage.GetPrimAtPath(link.where)
        if not prim or link.where == "/":
            continue
        T = np.array(cache.GetLocalToWorldTransform(prim), float).T
        U, _, Vt = np.linalg.svd(T[:3, :3])
        T[:3, :3], T[:3, 3] = U @ Vt, metres * T[:3, 3]
        off = float(np.abs(robot.description.upright @ T - robot.frames[name].transform).max())
        errors["frames"] = max(errors["frames"], off)
        given = prim.GetAttribute("physics:mass").Get() or 0.0
        if given > 0.0 and link.inertia is not None:
            errors["mass"] = max(errors["mass"], abs(link.inertia.mass / given - 1.0))
    if moved:
        del errors["frames"]
    return errors


def movable(file: Path, folders: list[Path], dt: float = DT) -> tuple[Sim, Any] | None:
    """A robot that falls, its base held as oracles have it; None where oracles cannot follow it."""
    sim, robot = load(file, folders, dt, fixed_base=True)
    described = robot.description
    bearing = {joint.parent for joint in described.joints.values()}
    flies = any(joint.kind == "floating" and joint.child in bearing for joint in described.joints.values())
    if not robot.names or described.closures or described.loops or flies:
        return None
    _loosen(robot)
    return sim, robot


def times(file: Path, folders: list[Path]) -> dict[str, float]:
    """The least time of a step of ours and of MuJoCo's [s], of a robot that falls."""
    made = movable(file, folders)
    if made is None:
        return {}
    sim, robot = made
    start, (_, least) = robot.q.copy(), _stepped(sim, robot, _FEW if len(robot.names) > _MOST else 0)
    return {"step": least, "theirs": steps_of_mujoco(robot, oracle_of(robot, file), start)}


def steps_of_mujoco(robot: Any, oracle: Oracle, q: np.ndarray) -> float:
    """The least time of a step [s] of the same links and joints in MuJoCo."""
    return (oracle if isinstance(oracle, MuJoCo) else rebuilt(robot)).seconds_a_step(q, DT, 300)


def motions(file: Path, folders: list[Path], oracle_for: Callable[[Any], Oracle], dt: float = DT) -> dict[str, float]:
    """A fall without drives, the step response of one drive with all others holding, and the times of a step [s].

    Of large robots the times alone.
    """
    made = movable(file, folders, dt)
    if made is None:
        return {}
    sim, robot = made
    oracle = oracle_for(robot)
    start, is_large = robot.q.copy(), len(robot.names) > _MOST
    fall, least = _stepped(sim, robot, _FEW if is_large else 0)
    found = {"step": least, "theirs": steps_of_mujoco(robot, oracle, start)}
    if is_large:
        return found
    found["fall"] = _off(fall, _integrated(oracle, start, lambda q, v: np.zeros(len(q)), dt))
    sim.reset()
    M = np.diag(oracle.mass_matrix(start))
    k, c, moved = _SPEED**2 * M, 2.0 * _SPEED * M, int(np.argmax(M))
    target = start.copy()
    target[moved] += _STEP
    for coordinate, stiffness, damping, wanted in zip(robot.coordinates, k, c, target, strict=True):
        drive = coordinate.drive
        drive.target, drive.stiffness, drive.damping = float(wanted), float(stiffness), float(damping)
        drive.max_effort, drive.max_velocity = None, math.inf
    response, _ = _stepped(sim, robot)
    found["response"] = _off(response, _integrated(oracle, start, lambda q, v: k * (target - q) - c * v, dt))
    return found


def _loosen(robot: Any) -> None:
    """Without drives that are on, stops and dry friction, which oracles soften in ways of their own."""
    for joint in robot.joints.values():
        if getattr(joint, "max_angle", None) is not None:
            joint.max_angle = 3.14
    for coordinate in (c for joint in robot.joints.values() for c in joint.coordinates.values()):
        if coordinate.limit is not None:
            coordinate.limit = (-1e6, 1e6)
        if coordinate.friction:
            coordinate.friction = 0.0
        if coordinate.drive.on:
            coordinate.drive.on = False


def _stepped(sim: Sim, robot: Any, steps: int = 0) -> tuple[np.ndarray, float]:
    """q after every step, by default those of SPAN, and the least time of a step [s]."""
    rows, least = [], math.inf
    for _ in range(steps or round(SPAN / sim.dt)):
        begin = time.perf_counter()
        sim.step()
        least = min(least, time.perf_counter() - begin)
        rows.append(robot.q.copy())
    return np.array(rows), least


def _integrated(
    oracle: Oracle, start: np.ndarray, effort: Callable[[np.ndarray, np.ndarray], np.ndarray], dt: float
) -> np.ndarray:
    """q after every step, of the oracle's equations of motion, by an integrator of high order."""
    from scipy.integrate import solve_ivp

    n = len(start)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        M, bias, passive = oracle.equations(y[:n], y[n:])
        try:
            return np.concatenate([y[n:], np.linalg.solve(M, passive + effort(y[:n], y[n:]) - bias)])
        except np.linalg.LinAlgError:
            raise NotComparedError("the oracle's mass matrix is singular") from None

    times = dt * np.arange(1, round(SPAN / dt) + 1)
    y0 = np.concatenate([start, np.zeros(n)])
    found = solve_ivp(rates, (0.0, times[-1]), y0, method="LSODA", t_eval=times, rtol=1e-8, atol=1e-10)
    if not found.success:
        raise NotComparedError(f"its equations of motion are not integrated: {found.message}")
    return np.asarray(found.y[:n].T)


def _off(ours: np.ndarray, theirs: np.ndarray) -> float:
    way = max(float(np.abs(theirs - theirs[0]).max()), 1e-3)  # of what hangs in balance, 1 mm or mrad
    return float(np.abs(ours - theirs).max()) / way
