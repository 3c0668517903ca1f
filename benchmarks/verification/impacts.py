"""Impacts, wherever in a step they fall: momentum, Newton's and Coulomb's laws, energy; with the defaults of `Sim`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from scipy.integrate import solve_ivp

from dovetail import AngleAxis, Sim
from verification.case import Case, Finding

__all__ = ["cases"]

G = 9.81
STEPS = (0.01, 0.005, 0.002, 0.001)
PHASES = 8


def _worst(values: Iterable[float], expected: float) -> float:
    """The one farthest from what is expected."""
    return max(values, key=lambda value: abs(value - expected) if math.isfinite(value) else math.inf)


def _phases(dt: float, speed: float) -> np.ndarray:
    """Ways [m] that let a body with this speed arrive in eight phases of a step."""
    return np.arange(PHASES) * speed * dt / PHASES


# ---- momentum ----------------------------------------------------------------------------------------------------


def _head_hits_box(dt: float, way: float) -> tuple[float, float]:
    """Momentum, and energy over that of the plastic blow: a head on a slider hits a box on the ground, 1 kg each."""
    sim = Sim(dt=dt, friction=0.0)
    sim.ground()
    head = sim.box(0.1, pos=(-0.2 - way, 0, 0.2), mass=1.0, velocity=(1, 0, 0))
    sim.prismatic(None, head, axis=(1, 0, 0), pos=head.pos)
    box = sim.box((0.1, 0.1, 0.3), pos=(0, 0, 0.1509), mass=1.0)
    sim.step(round(0.25 / dt))
    return head.velocity[0] + box.velocity[0], sim.energy.kinetic / 0.25


def _box_hits_slider(dt: float, way: float) -> tuple[float, float]:
    sim = Sim(dt=dt, friction=0.0)
    sim.ground()
    box = sim.box(0.1, pos=(-way, 0, 0.0509), mass=1.0, velocity=(1, 0, 0))
    other = sim.box(0.1, pos=(0.2, 0, 0.06), mass=1.0)
    sim.prismatic(None, other, axis=(1, 0, 0), pos=other.pos)
    sim.step(round(0.25 / dt))
    return box.velocity[0] + other.velocity[0], sim.energy.kinetic / 0.25


def _two_turn(dt: float, way: float) -> tuple[float, float]:
    """Errors of momentum, and of angular momentum over that times 0.1 m, of a blow of two boxes off centre."""
    sim = Sim(dt=dt, gravity=(0, 0, 0), friction=0.3)
    one = sim.box((0.2, 0.15, 0.1), pos=(-0.2 - way, 0, 0), velocity=(2, 0, 0), spin=(0, 0, 1), mass=1.0)
    other = sim.box((0.2, 0.15, 0.1), pos=(0.05, 0.06, 0.02), mass=2.0)

    def momenta() -> tuple[np.ndarray, np.ndarray]:
        P, L = np.zeros(3), np.zeros(3)
        for body in (one, other):
            R = body.transform[:3, :3]
            P += body.mass * body.velocity
            L += np.cross(body.center, body.mass * body.velocity) + R @ body.inertia @ R.T @ body.spin
        return P, L

    before = momenta()
    while not np.abs(one.contact_force).any():
        sim.step()
    after = momenta()
    P, L = (float(np.abs(now - then).max()) for now, then in zip(after, before, strict=True))
    return P / 2.0, L / 0.2


def _momentum(steps: tuple[float, ...]) -> Case:
    found = list[Finding]()
    for name, run in (("head on a slider hits a box", _head_hits_box), ("box hits a slider", _box_hits_slider)):
        values = [run(dt, way) for dt in steps for way in _phases(dt, 1.0)]
        found.append(Finding(f"{name}: momentum [of 1 kg·m/s]", _worst((v[0] for v in values), 1.0), 1e-6, "", 1.0))
        found.append(Finding(f"{name}: energy left", _worst((v[1] for v in values), 1.0), 2e-3, "", 1.0))
    values = [_two_turn(dt, way) for dt in steps for way in _phases(dt, 2.0)]
    found.append(Finding("blow of two boxes off centre: momentum", max(v[0] for v in values), 1e-6))
    found.append(Finding("blow of two boxes off centre: L over p · 0.1 m", max(v[1] for v in values), 1e-4))
    text = (
        "Bodies that are free and bodies on joints, bodies in touch with the ground and others hit each other with "
        f"e = 0, arriving in {PHASES} phases of the step, at dt of {_list(steps)}. The worst of all."
    )
    return Case("impact_momentum", "Momentum in impacts", text, found)


# ---- landings ----------------------------------------------------------------------------------------------------


def _thrown(dt: float, fall: float) -> tuple[float, float]:
    """Friction's and the normal impulse of a plate that lands with 4 m/s across, over μmgt and mgt."""
    mu, t, pushed = 0.3, 0.5, 0.0
    sim = Sim(dt=dt, friction=mu)
    sim.ground()
    plate = sim.box((0.4, 0.4, 0.02), pos=(0, 0, 0.01 + fall), velocity=(4, 0, 0))
    for _ in range(round(t / dt)):
        sim.step()
        pushed += plate.contact_force[2] * dt
    return (4 - plate.velocity[0]) / (mu * G * t), pushed / (plate.mass * G * t)


def _drop(dt: float, kind: str, height: float) -> float:
    """The fastest that a body which was dropped with e = 0 goes up again, over the speed that it landed with."""
    sim = Sim(dt=dt)
    sim.ground()
    body = sim.box(0.2, pos=(0, 0, 0.1 + height)) if kind == "box" else sim.sphere(0.1, pos=(0, 0, 0.1 + height))
    falls, up = math.sqrt(2 * height / G), 0.0
    for k in range(round((falls + 0.3) / dt)):
        sim.step()
        if k * dt > falls:
            up = max(up, body.velocity[2])
    return up / math.sqrt(2 * G * height)


def _landings(steps: tuple[float, ...]) -> Case:
    found = []
    for dt in steps:
        values = [_thrown(dt, 0.2 + way) for way in _phases(dt, math.sqrt(2 * G * 0.2))]
        share = 0.015 * dt / 0.01
        what = f"thrown plate, dt = {1e3 * dt:g} ms"
        found.append(Finding(f"{what}: friction's impulse / μmgt", _worst((v[0] for v in values), 1), share, "", 1))
        found.append(Finding(f"{what}: Σ contact_force · dt / mgt", _worst((v[1] for v in values), 1), share, "", 1))
    heights = (0.005, 0.05, 0.2, 0.21, 1.0)
    values = [_drop(dt, kind, height) for dt in steps for kind in ("box", "ball") for height in heights]
    found.append(Finding("boxes and balls dropped from 5 mm to 1 m, e = 0: rebound / speed", max(values), 0.01))
    text = (
        "A plate of 0.4 m that is thrown with 4 m/s and falls by 0.2 m is slowed down by μmg for as long as it has "
        "fallen and slid: the blow of the landing counts once, in friction and in the forces that are told. Velocities "
        "in touch are means over the last step, hence half a step of friction is still to come: the bars are in "
        "proportion to dt."
    )
    return Case("impact_landings", "Landings", text, found)


# ---- Newton and Coulomb ------------------------------------------------------------------------------------------


def _oblique(dt: float, way: float, mu: float, e: float) -> tuple[float, float]:
    """Errors of velocity and of the surface's speed by spin, over 2 m/s, of a ball after an oblique blow."""
    r, vx, height = 0.05, 2.0, 0.3 + way
    sim = Sim(dt=dt, friction=mu)
    sim.ground()
    ball = sim.sphere(r, pos=(0, 0, height), mass=1, restitution=e, velocity=(vx, 0, -3))
    sim.step(math.ceil(0.1 / dt))
    vn = math.sqrt(9 + 2 * G * (height - r))
    wanted = max(vx - mu * (1 + e) * vn, 5 / 7 * vx)
    return (ball.velocity[0] - wanted) / vx, (ball.spin[1] * r - 2.5 * (vx - wanted)) / vx


def _rod(dt: float, way: float, mu: float) -> float:
    """Rate after over rate before, of a rod on a hinge that swings against a wall with e = 0.8."""
    sim = Sim(dt=dt, friction=mu)
    sim.box((0.1, 0.5, 2), pos=(0.2 + way, 0, 1), fixed=True)
    rod = sim.box(
        (0.04, 0.04, 0.5), pos=(-0.35, 0, 1.5), rot=AngleAxis(math.pi / 2, [0, 1, 0]), mass=1, restitution=0.8
    )
    hinge = sim.revolute(None, rod, pos=(-0.1, 0, 1.5), axis=(0, 1, 0))
    inertia = rod.inertia[0, 0] + 0.25**2
    for _ in range(round(0.7 / dt)):
        sim.step()
        if hinge.velocity > 0.0:  # the swing has the energy of its height
            return float(hinge.velocity / math.sqrt(2 * G * (1.5 - rod.center[2]) / inertia))
    return math.nan


def _bounces(dt: float, way: float) -> float:
    """How high a ball with e = 1 goes after ten bounces, over how high it was."""
    sim, r = Sim(dt=dt), 0.05
    sim.ground()
    ball = sim.sphere(r, pos=(0, 0, r + 0.2 + way), restitution=1.0)
    up, bounces = False, 0
    while bounces < 10:
        sim.step()
        bounces += not up and ball.velocity[2] > 0
        up = ball.velocity[2] > 0
    sim.step()
    return float((ball.pos[2] - r + ball.velocity[2] ** 2 / (2 * G)) / (0.2 + way))


def _plastic(dt: float, way: float) -> float:
    sim = Sim(dt=dt, gravity=(0, 0, 0))
    one = sim.sphere(0.1, mass=1.0, velocity=(1, 0, 0))
    sim.sphere(0.1, pos=(0.3 + way, 0, 0), mass=1.0)
    sim.step(round(0.3 / dt))
    return float(one.velocity[0])


def _cradle(dt: float, gap: float) -> tuple[float, float, float]:
    """Speed of the last ball over what its height leaves of the swing's, the fastest other over that, energy gained."""
    sim, r, length, tilt, balls = Sim(dt=dt, friction=0.0, d_hat=1e-4 if gap else 1e-3), 0.05, 0.5, 0.5, []
    for k in range(5):
        x = k * (2 * r + gap)
        swung = (x - length * math.sin(tilt), 0, -length * math.cos(tilt))
        ball = sim.sphere(r, pos=(x, 0, -length) if k else swung, restitution=1.0, mass=1.0)
        sim.distance(None, ball, start=(x, 0, 0), end=ball.pos)
        balls.append(ball)
    drop = length * (1 - math.cos(tilt))
    begun, most = sim.energy.total, -math.inf
    for _ in range(round(1.12 * 0.5 * math.pi * math.sqrt(length / G) / dt)):
        sim.step()
        most = max(most, (sim.energy.total - begun) / (G * drop))
    left = math.sqrt(2 * G * (drop - (balls[4].center[2] + length)))
    rest = max(float(np.abs(ball.velocity).max()) for ball in balls[:4])
    return float(np.linalg.norm(balls[4].velocity)) / left, rest / left, most


def _laws(steps: tuple[float, ...]) -> Case:
    found = []
    for mu, e in ((0.05, 0.8), (0.5, 0.8), (0.5, 0.0)):
        values = [_oblique(dt, way, mu, e) for dt in steps for way in _phases(dt, 3.5)]
        worst = _worst((v for both in values for v in both), 0.0)
        found.append(Finding(f"oblique ball, μ = {mu}, e = {e}: velocity and spin", worst, 1e-3))
    values = [_rod(dt, way, mu) for mu in (0.0, 0.1, 0.5, 1.0) for dt in steps for way in _phases(dt, 3.0)[::2]]
    found.append(Finding("rod on a hinge at a wall, μ of 0 … 1: ratio of rates", _worst(values, 0.8), 0.01, "", 0.8))
    values = [_bounces(dt, way) for dt in steps for way in _phases(dt, 2.0)[::2]]
    found.append(Finding("ball, e = 1: height after ten bounces", _worst(values, 1.0), 1e-3, "", 1.0))
    values = [_plastic(dt, way) for dt in steps for way in _phases(dt, 1.0)]
    found.append(Finding("two balls of 1 kg, e = 0: speed of the first", _worst(values, 0.5), 1e-3, "m/s", 0.5))
    swings = [_cradle(dt, gap) for dt in steps[:2] for gap in (0.0, 5e-3)]
    found.append(Finding("cradle of five, e = 1: last ball / swing", _worst((s[0] for s in swings), 1), 0.01, "", 1))
    found.append(Finding("cradle: fastest of the others / swing", max(s[1] for s in swings), 0.01))
    found.append(Finding("cradle: energy gained / swing", max(s[2] for s in swings), 1e-6))
    text = (
        "Newton's law of restitution and Coulomb's law of friction, in impulses: velocity and spin of a ball that hits "
        "the ground obliquely, sliding or rolling off; a rod with one freedom, whose rebound no friction changes; "
        f"a ball that bounces for ever; a cradle. Over phases of the step, at dt of {_list(steps)}; the worst of all."
    )
    return Case("impact_laws", "Restitution and friction of blows", text, found)


# ---- a tutorial's gate -------------------------------------------------------------------------------------------


def _gate(dt: float, way: float) -> tuple[float, float]:
    """Largest rate [rad/s] of the gate of the first tutorial, and the same by hand: see `_by_hand`."""
    sim = Sim(dt=dt, friction=0.3)
    sim.ground()
    gate = sim.box((0.6, 0.04, 0.4), pos=(0.3, 0, 0.25), density=500)
    hinge = sim.revolute(None, gate, pos=(0, 0, 0.25), axis=(0, 0, 1), limit=(0.0, 1.4))
    ball = sim.sphere(0.1, pos=(0.45, -0.5 - way, 0.101), velocity=(0, 2, 0))
    m, inertia, fastest = ball.mass, gate.inertia[2, 2] + gate.mass * 0.3**2, 0.0
    for _ in range(round(0.4 / dt)):
        sim.step()
        fastest = max(fastest, hinge.velocity)
    return fastest, _by_hand(m, inertia, 0.5 + way)


def _by_hand(m: float, inertia: float, way: float) -> float:
    """The ball slides and rolls on the ground, shares its momentum with the gate, and is pushed on by its spin.

    The blow: an impulse p across the gate, and μp against the ball's spin at it as long as that slips. After it the
    ball's spin slips on the ground again, whose friction pushes ball and gate, until it rolls; the gate presses on the
    ball with N, and rubs on it with μN.
    """
    mu, r, x = 0.3, 0.1, 0.45
    way -= r + 0.02
    rolls = 2 / (3.5 * mu * G)  # [s] until it rolls
    slid = 2 * rolls - 0.5 * mu * G * rolls**2
    v = 5 / 7 * 2 if way > slid else math.sqrt(4 - 2 * mu * G * way)
    spin = v / r if way > slid else 2.5 * (2 - v) / r
    p = v / (1 / m + x * x / inertia)
    rate, spin = p * x / inertia, max(spin - 2.5 * mu * p / (m * r), 0.0)

    def pushed(_: float, q: np.ndarray) -> list[float]:
        _, rate, spin = q
        slip = spin * r - rate * x
        share = math.tanh(slip / 1e-4)
        # N on the gate: (ground's friction − N) = m a, N x = I dω/dt, and the gate's friction lifts the ball a little
        drive = mu * m * G * share
        N = drive / (1 + m * x * x / inertia - mu * mu * share)
        ground = mu * (m * G + mu * N) * share
        rubs = mu * N * math.tanh(spin * r / 1e-4)
        return [rate, N * x / inertia, -2.5 * (ground + rubs) / (m * r)]

    found = solve_ivp(pushed, (0, 0.2), [0.0, rate, spin], method="LSODA", rtol=1e-7, atol=1e-9)
    return float(found.y[1].max())


def _gates(steps: tuple[float, ...]) -> Case:
    values = [_gate(dt, way) for dt in steps for way in _phases(dt, 1.5)]
    ratio = _worst((found / wanted for found, wanted in values), 1.0)
    text = (
        "The ball of the first tutorial rolls against a gate on a hinge, from eight offsets. By hand: momentum about "
        "the hinge, friction between them, and the spin of the ball, which pushes both on over the ground."
    )
    return Case("impact_gate", "A ball against a gate", text, [Finding("largest rate / by hand", ratio, 0.02, "", 1.0)])


# ---- energy ------------------------------------------------------------------------------------------------------


def _throw(seed: int, e: float, mu: float) -> float:
    """How far the energy of bodies that are thrown at random ever is above where it was, over that."""
    rng = np.random.default_rng(seed)
    sim = Sim(friction=mu)
    sim.ground(restitution=e)
    bodies = []
    for k in range(int(rng.integers(1, 4))):
        turn = AngleAxis(rng.uniform(0, 3), rng.normal(size=3))
        given = {
            "pos": (*rng.uniform(-0.1, 0.1, 2), 0.25 + 0.35 * k), "rot": turn, "restitution": e,
            "velocity": 2 * rng.normal(size=3), "spin": 5 * rng.normal(size=3),
        }  # fmt: skip
        make: list[Callable[[], object]] = [
            lambda given=given: sim.box((0.2, 0.15, 0.1), **given),
            lambda given=given: sim.sphere(0.08, **given),
            lambda given=given: sim.capsule(0.05, 0.2, **given),
        ]
        bodies.append(make[int(rng.integers(3))]())
    begun, most = sim.energy.total, -math.inf
    for _ in range(100):
        sim.step()
        most = max(most, sim.energy.total / begun - 1)
    return most


def _energy(quick: bool) -> Case:
    count = 5 if quick else 23
    kinds = [(e, mu) for e in (0.0, 0.5, 1.0) for mu in (0.0, 0.5, 1.0)]
    values = {kind: max(_throw(seed, *kind) for seed in range(count)) for kind in kinds}
    plain = max(value for kind, value in values.items() if kind != (1.0, 0.0))
    found = [Finding("with any loss: above the start", max(plain, 0.0), 1e-7)]
    found.append(Finding("e = 1, μ = 0: above the start", max(values[1.0, 0.0], 0.0), 1e-5))
    text = (
        f"{count * len(kinds)} throws of one to three boxes, balls and capsules with random spins, e and μ of 0, 0.5 "
        "and 1 each. The bars are what free flight with spin is off by: until the first impact, and in a second."
    )
    return Case("impact_energy", "Energy of random throws", text, found)


def _list(steps: tuple[float, ...]) -> str:
    return ", ".join(f"{1e3 * dt:g}" for dt in steps) + " ms"


def cases(quick: bool) -> list[Case]:
    steps = STEPS[:2] if quick else STEPS
    return [_momentum(steps), _landings(steps), _laws(steps), _gates(steps), _energy(quick)]
