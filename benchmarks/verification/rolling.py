"""Rolling and sliding with the defaults of `Sim`, dt = 0.01: flat ground, slopes, a table, a car."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import AngleAxis, Sim
from dovetail.sim import Body
from verification.case import Case, Finding

__all__ = ["cases"]

G, R = 9.81, 0.1
ACROSS = AngleAxis(math.pi / 2, [1, 0, 0])  # lays what is along z along y

Maker = Callable[..., Body]
ROUND: dict[str, tuple[Maker, float]] = {
    # what it is, and I/(m r²) about the axis that it rolls about
    "ball": (lambda sim, **o: sim.sphere(R, **o), 0.4),
    "capsule": (lambda sim, **o: sim.capsule(R, 0.3, rot=ACROSS, **o), float("nan")),
    "cylinder": (lambda sim, **o: sim.cylinder(R, 0.2, rot=ACROSS, **o), 0.5),
}


def _slope(degrees: float, friction: float = 0.5) -> Sim:
    """Level ground under gravity that is turned."""
    a = math.radians(degrees)
    sim = Sim(gravity=(G * math.sin(a), 0, -G * math.cos(a)), friction=friction)
    sim.ground(normal=(0, 0, 1))
    return sim


def _car(sim: Sim, speed: float) -> Body:
    spin, z = speed / R, R
    body = sim.box((0.8, 0.3, 0.1), pos=(0, 0, z + 0.12), velocity=(speed, 0, 0), density=500)
    for x in (-0.3, 0.3):
        for y in (-0.25, 0.25):
            wheel = sim.cylinder(R, 0.05, pos=(x, y, z), rot=ACROSS, velocity=(speed, 0, 0), spin=(0, spin, 0))
            sim.revolute(body, wheel, pos=(x, y, z), axis=(0, 1, 0))
    return body


def _barrow(sim: Sim, speed: float) -> Body:
    """A frame on one wheel in front, on a hinge, and on a ball behind."""
    body = sim.box((0.6, 0.1, 0.04), pos=(0, 0, 2 * R + 0.05), velocity=(speed, 0, 0), contact=False)
    wheel = sim.cylinder(R, 0.1, pos=(0.25, 0, R), rot=ACROSS, velocity=(speed, 0, 0), spin=(0, speed / R, 0))
    ball = sim.sphere(R, pos=(-0.25, 0, R), velocity=(speed, 0, 0), spin=(0, speed / R, 0))
    sim.revolute(body, wheel, pos=(0.25, 0, R), axis=(0, 1, 0))
    sim.spherical(body, ball, pos=(-0.25, 0, R))
    return body


def _flat() -> Case:
    findings, tracks = [], {}
    makers: dict[str, Callable[[Sim], Body]] = {
        name: (lambda sim, make=make: make(sim, pos=(0, 0, R), velocity=(1, 0, 0), spin=(0, 1 / R, 0)))
        for name, (make, _) in ROUND.items()
    }
    makers["wheel on a hinge"] = lambda sim: _barrow(sim, 1.0)
    makers["car on four wheels"] = lambda sim: _car(sim, 3.0)
    for name, make in makers.items():
        sim = Sim()
        sim.ground()
        body = make(sim)
        begun = body.velocity[0]
        seen = []
        for _ in range(300):
            sim.step()
            seen.append(body.velocity[0] / begun)
        tracks[name] = seen
        findings.append(Finding(f"speed of a {name} after 3 s", seen[-1], 0.03 if "car" in name else 0.02, "", 1.0))

    def draw(axes: Any) -> None:
        for name, seen in tracks.items():
            axes.plot(0.01 * np.arange(1, 301), seen, lw=1, label=name)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("share of the speed")
        axes.legend(frameon=False)

    text = "Set rolling at 1 m/s (the car at 3 m/s) on level ground, μ = 0.5: nothing but arithmetic slows them down."
    return Case("rolling", "Rolling on the flat", text, findings, draw)


def _slopes(quick: bool) -> Case:
    findings = []
    seconds = 2.0
    for name, (make, share) in ROUND.items():
        for degrees in (2, 8, 15, 25) if not quick else (8,):
            sim = _slope(degrees)
            body = make(sim, pos=(0, 0, R))
            if math.isnan(share):
                share = float(np.linalg.eigvalsh(body.inertia)[0]) / (body.mass * R * R)
            sim.step(round(seconds / 0.01))
            way = 0.5 * G * math.sin(math.radians(degrees)) / (1 + share) * seconds**2
            findings.append(
                Finding(f"way of a {name} on {degrees}°, of what it should be", body.pos[0] / way, 0.02, "", 1.0)
            )
    for name, (make, share) in ROUND.items():
        if math.isnan(share):
            continue
        # beyond tan α = μ(1 + m r²/I) a round body slips, and goes as a block does
        degrees, mu = 35.0, 0.1
        sim = _slope(degrees, mu)
        body = make(sim, pos=(0, 0, R))
        sim.step(100)
        a = math.radians(degrees)
        way = 0.5 * G * (math.sin(a) - mu * math.cos(a))
        findings.append(
            Finding(f"way of a {name} that slips on {degrees:g}°, μ = {mu:g}", body.pos[0] / way, 0.02, "", 1.0)
        )
    text = (
        "From rest down a slope for 2 s, as a share of the way that it should be: without slip a round body has the "
        "acceleration g sin α/(1 + I/mr²); on steep and smooth slopes, after 1 s, g(sin α − μ cos α)."
    )
    return Case("slopes", "Down a slope", text, findings)


def _rest() -> Case:
    findings = []
    for name in ("ball", "capsule"):
        make, _ = ROUND[name]
        sim = Sim()
        sim.box((1, 1, 0.1), pos=(0, 0, -0.05), fixed=True)
        body = make(sim, pos=(0.1, 0.2, R))
        sim.step(1000)
        findings.append(
            Finding(f"{name} after 10 s", 1e3 * float(np.hypot(*(body.pos - (0.1, 0.2, R))[:2])), 0.1, "mm")
        )
    sim = Sim()
    sim.ground()
    boxes = [sim.box(0.1, pos=(0, 0, 0.051 + 0.101 * k)) for k in range(5)]
    sim.step(100)
    begun = [box.pos for box in boxes]
    sim.step(1000)
    drift = max(float(np.linalg.norm(box.pos - before)) for box, before in zip(boxes, begun, strict=True))
    findings.append(Finding("stack of five boxes, from 1 s to 11 s", 1e3 * drift, 0.1, "mm"))
    text = "A round body on a box, and boxes on each other, stay where they are put."
    return Case("rest", "Left alone on a table", text, findings)


def cases(quick: bool) -> list[Case]:
    return [_flat(), _slopes(quick), _rest()]
