"""Scenes of contact: a stack, an arch, dominoes, masses that differ. Each with what must come out of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail import Sim
from dovetail.typing import Array
from verification.case import Case, Finding

__all__ = ["cases"]

_G = 9.81
_FIRM = 1e-4  # [m/s] contact/eps_velocity, below which friction grows from zero: a hundredth of the default


def _drift(dt: float, seconds: float, eps_velocity: float) -> Array:
    """Largest horizontal motion [m] of any of 20 stacked cubes, second by second."""
    sim = Sim(dt=dt, config={"contact/eps_velocity": eps_velocity})
    sim.ground()
    cubes = [sim.box(0.1, pos=(0, 0, 0.0505 + 0.1008 * k)) for k in range(20)]
    found = []
    for _ in range(round(seconds)):
        sim.step(round(1.0 / dt))
        found.append(max(float(np.abs(cube.pos[:2]).max()) for cube in cubes))
    return np.array(found)


def _stack(name: str, title: str, text: str, eps_velocity: float, quick: bool) -> Case:
    seconds = 10.0 if quick else 60.0
    drifts = {dt: _drift(dt, seconds, eps_velocity) for dt in (0.01, 0.02)}
    findings = [
        Finding(f"largest drift in {seconds:g} s, dt = {dt:g} s", float(drift.max()), 1e-4, "m")
        for dt, drift in drifts.items()
    ]

    def draw(axes: Any) -> None:
        for dt, drift in drifts.items():
            axes.semilogy(np.arange(1, len(drift) + 1), np.maximum(drift, 1e-17), lw=1, label=f"dt = {dt:g} s")
        axes.set_xlabel("time [s]")
        axes.set_ylabel("largest drift [m]")
        axes.legend(frameon=False)

    return Case(name, title, text, findings, draw)


def stack(quick: bool) -> Case:
    text = (
        "Twenty cubes of 0.1 m on each other, for a minute. The bar, a thousandth of a cube, is what nobody would see. "
        "`contact/eps_velocity` is 1e-4 m/s."
    )
    return _stack("stack", "A stack of 20 cubes", text, _FIRM, quick)


def creep(quick: bool) -> Case:
    text = "The same stack with the default `contact/eps_velocity`."
    return _stack("creep", "The stack with default friction", text, 1e-2, quick)


def _wedge(thickness: float, start: float, end: float) -> tuple[Array, Array]:
    """A voussoir of an arch of mean radius 1 m: vertices (8, 3) about its centre, and the centre (3,)."""
    inner, outer = 1.0 - thickness / 2, 1.0 + thickness / 2
    flat = [(r * np.cos(a), r * np.sin(a)) for r, a in ((inner, start), (outer, start), (outer, end), (inner, end))]
    vertices = np.array([(x, y, z) for y in (-0.15, 0.15) for x, z in flat])
    centre = vertices.mean(axis=0)
    return vertices - centre, centre


_FACES = np.array([[0, 1, 2, 3], [4, 7, 6, 5], [0, 4, 5, 1], [1, 5, 6, 2], [2, 6, 7, 3], [3, 7, 4, 0]])


def _arch(thickness: float, seconds: float) -> tuple[Array, float]:
    """Centres (frames, 9, 3) of the wedges of a semicircular arch, and the force of the ground over their weight."""
    sim = Sim(friction=0.8, config={"contact/eps_velocity": _FIRM})
    sim.ground()
    gap, count = 5e-4, 9
    width = (np.pi - gap * (count + 1)) / count
    wedges = []
    for k in range(count):
        start = gap + k * (width + gap)
        vertices, centre = _wedge(thickness, start, start + width)
        triangles = np.concatenate([_FACES[:, [0, 1, 2]], _FACES[:, [0, 2, 3]]])
        wedges.append(sim.mesh((vertices, triangles), pos=centre))
    seen = np.array([[wedge.pos for wedge in wedges] for _ in sim.run(round(seconds / 0.01))])
    force = sum(float(wedge.contact_force[2]) for wedge in wedges)
    return seen, force / (_G * sum(wedge.mass for wedge in wedges))


def arch(quick: bool) -> Case:
    seconds = 5.0
    stands, force = _arch(0.13, seconds)
    falls, _ = _arch(0.10, seconds)
    findings = [
        # d_hat is 1 mm: contacts that open or close by less are at work all the time
        Finding(
            "0.13 of the radius: largest motion from 1 s to 5 s", float(np.ptp(stands[100:], axis=0).max()), 1e-3, "m"
        ),
        # what inertia and the last digits of Newton's method leave of an equilibrium
        Finding("the same: force of the ground ÷ weight", force, 1e-3, "", 1.0),
        Finding("0.10 of the radius: height of the crown at 5 s", float(falls[-1, 4, 2]), 0.5, "m"),
    ]

    def draw(axes: Any) -> None:
        for seen, name in ((stands, "0.13 R"), (falls, "0.10 R")):
            axes.plot(0.01 * np.arange(1, len(seen) + 1), seen[:, 4, 2], lw=1, label=name)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("height of the crown [m]")
        axes.legend(frameon=False)

    text = (
        "Nine wedges, μ = 0.8, make a semicircular arch. It stands by its thickness: a line of thrust fits into it "
        "from 0.1075 of the mean radius on (Milankovitch, Heyman). `contact/eps_velocity` is 1e-4 m/s, so that it does "
        "not creep."
    )
    return Case("arch", "An arch of wedges", text, findings, draw)


_HEIGHT, _PITCH, _DOMINOES = 0.2, 0.1, 15


def _dominoes(dt: float) -> tuple[Array, Array]:
    """Tilt [°] (frames, 15) of dominoes in a row, the first of which is pushed, and energy (frames,) [J]."""
    sim = Sim(dt=dt, friction=0.3)
    sim.ground()
    row = []
    for k in range(_DOMINOES):
        push = {"spin": (0.0, 1.5, 0.0), "velocity": (1.5 * _HEIGHT / 2, 0.0, 0.0)} if k == 0 else {}
        row.append(sim.box((0.03, 0.1, _HEIGHT), pos=(_PITCH * k, 0, _HEIGHT / 2 + 1e-3), **push))  # type: ignore[arg-type]
    seen = [([body.transform[2, 2] for body in row], sim.energy.total) for _ in sim.run(round(2.0 / dt))]
    upright, energy = zip(*seen, strict=True)
    return np.rad2deg(np.arccos(np.clip(np.array(upright), -1.0, 1.0))), np.array(energy)


def _front(tilt: Array, dt: float) -> float:
    """Speed [m/s] of the front between the sixth domino and the last: where 10° are passed, between frames."""
    times = []
    for angle in (tilt[:, 5], tilt[:, -1]):
        rising = angle[: np.argmax(angle > 20.0)]
        times.append(dt * np.interp(10.0, rising, np.arange(len(rising))))
    return _PITCH * (_DOMINOES - 6) / float(times[1] - times[0])


def dominoes(quick: bool) -> Case:
    (tilt, energy), (fine, _) = _dominoes(0.005), _dominoes(0.0025)
    speeds = _front(tilt, 0.005), _front(fine, 0.0025)
    gain = float(np.max(energy - np.minimum.accumulate(energy)))
    findings = [
        Finding("dominoes that stand after 2 s", float((tilt[-1] < 45.0).sum()), 0.0),
        # what touches tells the mean velocity of its last step, what parts that at its end
        Finding("largest gain of energy, share of the start", gain / energy[0], 1e-3),
        Finding("speed of the front at 5 ms ÷ at 2.5 ms", speeds[0] / speeds[1], 0.03, "", 1.0),
    ]  # fmt: skip

    def draw(axes: Any) -> None:
        axes.plot(0.005 * np.arange(1, len(tilt) + 1), tilt, lw=0.8)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("tilt [°]")

    text = (
        "Fifteen dominoes of 0.2 m, half as far apart as they are high, μ = 0.3; the first is pushed. All fall, energy "
        f"only goes, and the front runs at {speeds[1]:.2f} m/s, {speeds[1] / np.sqrt(_G * _HEIGHT):.2f} √(g h). There "
        "is no closed form; steps of 5 and 2.5 ms agree to 3 %."
    )
    return Case("dominoes", "Dominoes", text, findings, draw)


def masses(quick: bool) -> Case:
    findings, seen = [], {}
    for ratio in (10.0, 100.0, 1000.0):
        sim = Sim(kappa=1e10)
        sim.ground()
        light = sim.box(0.1, pos=(0, 0, 0.0505))
        heavy = sim.box(0.1, pos=(0, 0, 0.1515), density=1000.0 * ratio)
        sim.step(200)
        below, between = light.vertices[:, 2].min(), heavy.vertices[:, 2].min() - light.vertices[:, 2].max()
        carried = float(heavy.contact_force[2]) / (_G * heavy.mass)
        seen[ratio] = (float(below), float(between))
        findings += [
            # surfaces repel from d_hat = 1 mm on, and never touch
            Finding(f"{ratio:g} : 1, gap to the ground", float(below), 5e-4, "m", 5e-4),
            Finding(f"{ratio:g} : 1, gap between them", float(between), 5e-4, "m", 5e-4),
            # 1e-3 m/s of Newton's tolerance, divided by dt, against g: 1 %; the last step is far better
            Finding(f"{ratio:g} : 1, force on the heavy one ÷ weight", carried, 1e-3, "", 1.0),
        ]  # fmt: skip

    def draw(axes: Any) -> None:
        for k, name in enumerate(("to the ground", "between them")):
            axes.loglog(list(seen), [gaps[k] for gaps in seen.values()], "o-", ms=4, label=name)
        axes.set_xlabel("mass ratio")
        axes.set_ylabel("gap [m]")
        axes.legend(frameon=False)

    text = (
        "A heavy cube rests on a light one; gaps stay open, within d_hat = 1 mm, and forces are those of the weights."
    )
    return Case("masses", "Heavy on light", text, findings, draw)


def cases(quick: bool) -> list[Case]:
    return [stack(quick), creep(quick), arch(quick), dominoes(quick), masses(quick)]
