"""Drives at their caps, over integrators, steps and phases of the step; the equations are those of the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import Sim
from verification.case import Case, Finding, test_module

__all__ = ["cases"]

_CAP = 10.0  # [N] on 1 kg


def _follow(sim: Any, seconds: float, *read: Callable[[], float]) -> np.ndarray:
    rows = []
    for _ in range(round(seconds / sim.dt)):
        sim.step()
        rows.append([one() for one in read])
    return np.array(rows).T


def _slider(dt: float) -> tuple[Any, Any, Any]:
    sim = Sim(dt=dt, contact=False, gravity=(0, 0, 0), kappa=1e10)
    body = sim.box(0.1, mass=1.0)
    return sim, body, sim.prismatic(None, body, axis=(1, 0, 0), pos=(0, 0, 0))


def _bang_bang(dt: float, offset: float) -> tuple[float, float, float]:
    """Time to a target at a metre over that of the plan; overshoot [m]; largest effort over the cap."""
    tests = test_module("physics/test_capped_drives")
    sim, _, joint = _slider(dt)
    target = 1.0 + offset
    joint.drive.target, joint.drive.max_effort = target, _CAP
    x, f = _follow(sim, 1.0, lambda: joint.distance, lambda: joint.drive.effort)
    away = np.flatnonzero(np.abs(x - target) > tests.NEAR)[-1]
    part = np.interp(-tests.NEAR, [x[away] - target, x[away + 1] - target], [0.0, 1.0])
    arrived = dt * (1 + away + part)
    return arrived / tests.planned(target, _CAP), max(x.max() - target, 0.0), np.abs(f).max() / _CAP


def _motor(dt: float) -> tuple[float, float]:
    """When a motor with a cap reaches its speed, over I ω/τ; how far it then is off it, over it."""
    wanted, torque = 5.0, 0.1
    sim = Sim(dt=dt, contact=False, gravity=(0, 0, 0))
    wheel = sim.cylinder(0.1, 0.05, mass=2.0 * 0.0079 / 0.1**2)
    hinge = sim.revolute(None, wheel, pos=(0, 0, 0), axis=(0, 0, 1))
    hinge.drive.target_velocity, hinge.drive.max_effort = wanted, torque
    (speed,) = _follow(sim, 1.0, lambda: hinge.velocity)
    expected = wheel.inertia[2, 2] * wanted / torque
    first = int(np.argmax(speed > wanted * (1.0 - 1e-3)))
    reached = dt * (first + np.interp(wanted * (1.0 - 1e-3), speed[first - 1 : first + 1], [0.0, 1.0]))
    return reached / expected, float(np.abs(speed[round(0.45 / dt) :] / wanted - 1.0).max())


def _overpowered(dt: float) -> tuple[float, float]:
    """Speed after a second of 2 N against a cap of 1 N on 1 kg; effort of the drive [N], the farthest from −1."""
    sim, body, joint = _slider(dt)
    joint.drive.target, joint.drive.max_effort = 0.0, 1.0
    joint.force = 2.0
    v, f = _follow(sim, 1.0, lambda: body.velocity[0], lambda: joint.drive.effort)
    return v[-1], f[int(np.argmax(np.abs(f + 1.0)))]


def _passes(dt: float, offset: float) -> tuple[float, float]:
    """How far gains of 1e4 and 200 with a cap go beyond 1 m, over the equation's way; largest force over the cap."""
    tests = test_module("physics/test_capped_drives")
    sim, body, joint = _slider(dt)
    joint.drive.target, joint.drive.stiffness, joint.drive.damping = 1.0 + offset, 1e4, 200.0
    joint.drive.max_effort = _CAP
    x, v = _follow(sim, 1.5, lambda: joint.distance, lambda: body.velocity[0])
    exact = tests.solve_ivp(
        lambda _, y: [y[1], np.clip(1e4 * (1.0 + offset - y[0]) - 200.0 * y[1], -_CAP, _CAP)],
        (0.0, 1.5), [0.0, 0.0], rtol=1e-9, atol=1e-11, max_step=2e-4,
    )  # fmt: skip
    return x.max() / exact.y[0].max(), np.abs(np.diff(v, prepend=0.0)).max() / dt / _CAP


def _sum(dt: float) -> float:
    """Σ effort · dt less m v, the largest over the fastest m v, of a drive that speeds up, brakes and holds."""
    sim, body, joint = _slider(dt)
    joint.drive.target, joint.drive.max_effort = 1.0, _CAP
    v, f = _follow(sim, 1.0, lambda: body.velocity[0], lambda: joint.drive.effort)
    return float(np.abs(np.cumsum(f) * dt - v).max() / v.max())


def _arm(dt: float, push: float) -> float:
    """Steps in which a drive that cannot hold its arm pushes it away from its target."""
    sim = Sim(dt=dt, contact=False)
    arm = sim.box((0.5, 0.05, 0.05), pos=(0.25, 0, 1), mass=2.0)
    hinge = sim.revolute(None, arm, pos=(0, 0, 1), axis=(0, 1, 0))
    hinge.drive.target, hinge.drive.max_effort = -1.0, 3.0
    count = 0
    for k in range(round(3.0 / dt)):
        hinge.torque, before = push if k * dt < 0.3 else 0.0, hinge.angle
        sim.step()
        left = -1.0 - hinge.angle
        count += (hinge.angle - before) * left < 0.0 and hinge.drive.effort * left < -1e-9
    return float(count)


def cases(quick: bool) -> list[Case]:
    steps = (0.01, 0.002) if quick else (0.01, 0.005, 0.002, 0.001)
    offsets = np.arange(8) * 0.005  # a step of 10 ms covers 4 cm at the fastest: phases of the step
    findings = []
    for dt in steps:
        found = np.array([_bang_bang(dt, offset) for offset in offsets])
        worst = found[np.argmax(np.abs(found[:, 0] - 1.0)), 0]
        what = f"dt {1e3 * dt:g} ms"
        # a plan is kept in whole steps: up to two of them, of 0.65 s
        findings.append(Finding(f"10 N on 1 kg, {what}: time to 1 m over that of the plan", worst, 4 * dt, "", 1.0))
        findings.append(Finding("overshoot", found[:, 1].max(), 2e-4, "m"))
        findings.append(Finding("largest effort over its cap, less 1", max(found[:, 2].max() - 1.0, 0.0), 1e-9))
        reached, off = _motor(dt)
        findings.append(Finding(f"motor with a cap, {what}: time to its speed over Iω/τ", reached, 3.5 * dt, "", 1.0))
        findings.append(Finding("speed it keeps: error", off, 1e-3))
        speed, effort = _overpowered(dt)
        findings.append(Finding(f"2 N against a cap of 1 N, {what}: speed after 1 s", speed, 1e-6, "m/s", 1.0))
        findings.append(Finding("effort", effort, 1e-9, "N", -1.0))
        ways = np.array([_passes(dt, offset) for offset in offsets / 4])
        worst = ways[np.argmax(np.abs(ways[:, 0] - 1.0)), 0]
        # where the force turns, it does so up to a step early
        findings.append(Finding(f"gains pass their target, {what}: way over the equation's", worst, 5 * dt, "", 1.0))
        findings.append(Finding("largest force over the cap", ways[:, 1].max(), 1e-6, "", 1.0))
        findings.append(Finding(f"Σ effort · dt over m v, {what}: error", _sum(dt), 1e-4))
        findings.append(Finding("steps in which a drive pushes away", sum(_arm(dt, p) for p in (0.0, -6.0, 8.0)), 0.0))
    text = (
        "1 kg on a slider, or a wheel of 0.0079 kg·m², with a drive that may exert 10 N, or 0.1 N·m; eight targets, so "
        "that braking begins in eight phases of the step. The plan speeds up with f/m and brakes with 0.9 of it; gains "
        "of 1e4 N/m and 200 N·s/m pass their target as ẍ = clip(k(x̃ − x) − cẋ, ±f)/m does. The overpowered drive, and "
        "one whose arm falls, never push away from their targets."
    )
    return [Case("drives", "Drives at their caps", text, findings)]
