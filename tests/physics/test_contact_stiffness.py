"""Contact and shapes that are stiff beside the loads that they bear: forces are right all the same, at every dt."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

from dovetail import AngleAxis, Sim

G = 9.81
WAY = 2.0 * 0.5 - 0.5 * 0.3 * G * 0.5**2  # [m] of what slides with 2 m/s and μ = 0.3 for half a second
EDGE = 1e-3  # of a way or a weight: what one step of 10 ms without friction at the start of a slide amounts to


class Slide(NamedTuple):
    """A way [m], and normal forces over the weight: mean and largest."""

    way: float
    mean: float
    largest: float


def _slide(sim: Sim, crate: object) -> Slide:
    sim.step(round(0.2 / sim.dt))
    crate.velocity = (2, 0, 0)
    begun, found = crate.pos[0], []
    for _ in range(round(0.5 / sim.dt)):
        sim.step()
        found.append(crate.contact_force[2] / (crate.mass * G))
    return Slide(crate.pos[0] - begun, float(np.mean(found)), max(found))


def on_a_slab(mass: float, dt: float) -> Slide:
    """A crate of 5 kg on a slab that slides freely."""
    sim = Sim(dt=dt, friction=0.3)
    slab = sim.box((4, 1, 0.2), pos=(0, 0, -0.1), mass=mass)
    sim.prismatic(None, slab, axis=(1, 0, 0))
    return _slide(sim, sim.box((0.2, 0.2, 0.125), pos=(-0.5, 0, 0.0625), mass=5.0))


def on_given_contact(kappa: float, dt: float) -> Slide:
    """The same crate on the ground, with a given stiffness of contact [Pa]; the solver takes 7e10 at 10 ms."""
    sim = Sim(dt=dt, friction=0.3)
    sim.scene.contact_tabular.default_model(0.3, kappa)
    sim.ground()
    return _slide(sim, sim.box((0.2, 0.2, 0.125), pos=(0, 0, 0.0625), mass=5.0))


def spun(rate: float, kappa: float, seconds: float = 10.0, dt: float = 0.01) -> float:
    """Energy of a free ball that spins [rad/s], over what it began with."""
    sim = Sim(dt=dt, kappa=kappa, gravity=(0, 0, 0), contact=False)
    sim.sphere(0.1, spin=(0, 0, rate))
    sim.step()
    begun = sim.energy["kinetic"] + sim.energy["shape"]
    sim.step(round(seconds / dt))
    return float((sim.energy["kinetic"] + sim.energy["shape"]) / begun)


def on_a_belt(dt: float, mass: float = 1e4, seconds: float = 6.0) -> tuple[float, float]:
    """Mean place and amplitude of a block on a spring that a belt takes along until it slips, over μmg/k and V/ω."""
    speed, k, mu = 0.2, 100.0, 0.3
    sim = Sim(dt=dt, friction=mu)
    belt = sim.box((8, 1, 0.2), pos=(2, 0, -0.1), mass=mass, velocity=(speed, 0, 0))
    sim.prismatic(None, belt, axis=(1, 0, 0))
    block = sim.box((0.2, 0.2, 0.04), pos=(0, 0, 0.0209), mass=1.0, velocity=(speed, 0, 0))
    spring = sim.d6(None, block, pos=(0, 0, 0), x="free", z="free", rx="free", ry="free", rz="free").coordinates["x"]
    spring.spring, spring.rest = k, 0.0
    place = []
    for _ in range(round(seconds / dt)):
        sim.step()
        place.append(block.center[0])
    w = math.sqrt(k)
    n = round(4 * math.pi / w / dt)
    t = dt * np.arange(n)
    middle, c, s = np.linalg.lstsq(np.column_stack([np.ones(n), np.cos(w * t), np.sin(w * t)]), place[-n:])[0]
    return middle / (mu * G / k), math.hypot(c, s) / (speed / w)


def on_a_shaken_plate(dt: float, seconds: float = 4.0) -> tuple[float, float]:
    """A cube on a plate of 1 t that is shaken with 3 μg: its way to and fro over μgT²/16, and its largest N/mg."""
    mu, period, mass = 0.3, 0.5, 1e3
    w = 2 * math.pi / period
    sim = Sim(dt=dt, friction=mu)
    plate = sim.box((2, 1, 0.2), pos=(0, 0, -0.1), mass=mass)
    sim.prismatic(None, plate, axis=(1, 0, 0))
    cube = sim.box(0.2, pos=(0, 0, 0.1), mass=1.0)
    place, weight = [], []
    for k in range(round(seconds / dt)):
        plate.force = (-mass * 3 * mu * G * math.cos(w * (k + 0.5) * dt), 0, 0)
        sim.step()
        place.append(cube.center[0])
        weight.append(cube.contact_force[2] / G)
    n = round(period / dt)
    ways = [np.ptp(place[len(place) - (k + 1) * n : len(place) - k * n]) for k in range(4)]
    return float(np.mean(ways)) / (mu * G * period**2 / 16), max(weight[len(weight) // 2 :])


def capstan(dt: float, drum: float, mu: float, seconds: float = 2.0) -> float:
    """Pull at the slack end over that at the tight one of 48 links of 1 g half around a drum that turns, over e^−μπ."""
    sim, links, n, thick = Sim(dt=dt, friction=mu), [], 48, 4e-3
    around = 0.1 + thick / 2 + 6e-4
    core = sim.capsule(0.1, 0.06, rot=AngleAxis(math.pi / 2, (1, 0, 0)), mass=drum)
    sim.revolute(None, core, pos=(0, 0, 0), axis=(0, 1, 0), motor=1.0)
    part = math.pi / n
    length = 0.98 * 2 * around * math.tan(part / 2)
    for k in range(n):
        a = math.pi - (k + 0.5) * part
        pos, rot = (around * math.cos(a), 0, around * math.sin(a)), AngleAxis(math.pi / 2 - a, (0, 1, 0))
        links.append(sim.box((length, 0.02, thick), pos=pos, rot=rot, mass=1e-3))
    for k in range(1, n):
        a = math.pi - k * part
        pos = around / math.cos(part / 2) * np.array([math.cos(a), 0, math.sin(a)])
        sim.revolute(links[k - 1], links[k], pos=pos, axis=(0, 1, 0))
    tight, slack = np.array([-around, 0, 0]), np.array([around, 0, 0])
    held = sim.distance(None, links[0], start=tight - (0, 0, 1), end=tight)
    weight = sim.box(0.05, pos=slack - (0, 0, 1), mass=1.0, contact=False)
    sim.prismatic(None, weight, axis=(0, 0, 1))
    sim.distance(links[-1], weight, start=slack, end=weight.pos)
    pulls = []
    sim.step(round(seconds / 2 / dt))
    for _ in range(round(seconds / 2 / dt)):
        sim.step()
        pulls.append(np.linalg.norm(held.reaction.force))
    return float(G / np.mean(pulls) / math.exp(-mu * math.pi))


@pytest.mark.parametrize("mass", [2e3, 1e5])
def test_a_crate_slides_on_a_heavy_slab_as_far_as_on_the_ground(mass):
    """Contact as stiff as the slab needs pressed on the crate with 1.2 and 16 times its weight: 0.45 m, and 0.05 m."""
    errors = []
    for dt in (0.01, 0.005, 0.002):
        found = on_a_slab(mass, dt)
        assert found.way == pytest.approx(WAY, rel=0.01)
        assert found.mean == pytest.approx(1.0, abs=EDGE) and found.largest < 1.1
        errors.append(abs(found.way / WAY - 1.0))
    assert all(fine < max(coarse, EDGE) for coarse, fine in pairwise(errors))


@pytest.mark.parametrize("kappa", [1e13, 1e14])
def test_contact_that_is_given_too_stiff_presses_with_the_weight(kappa):
    """The last step of Newton's method could change its force by three times the weight: 0.59 m at 1e14."""
    found = on_given_contact(kappa, 0.01)
    assert found.way == pytest.approx(WAY, rel=0.003)
    assert found.mean == pytest.approx(1.0, abs=2 * EDGE) and found.largest < 1.1


@pytest.mark.parametrize(("rate", "kappa"), [(60.0, 1e10), (60.0, 1e9), (60.0, 3e8), (80.0, 1e8), (100.0, 1e9)])
def test_a_stiff_body_that_spins_keeps_its_energy(rate, kappa):
    """It gained up to 230 % in 10 s: what the last step left of stress turned with the body."""
    assert spun(rate, kappa) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("mu", [0.2, 0.4])
def test_a_capstan_holds_by_the_same_factor_on_a_light_and_on_a_heavy_drum(mu):
    """The heavy drum had 0.986 and 0.982 of e^−μπ where the light one had 1.004 and 1.016, in three times the work."""
    light, heavy = (capstan(0.01, drum, mu, 1.0) for drum in (1.0, 680.0))
    assert light == pytest.approx(1.0, abs=0.02)
    assert heavy == pytest.approx(light, abs=1e-3)  # the heavy one turns 1 % faster, which friction does not ask for


@pytest.mark.parametrize("dt", [0.005, 0.0025])
def test_a_shaken_plate_presses_on_a_cube_with_its_weight(dt):
    """It was up to seven times that at 2.5 ms, and the way 3 % too long."""
    way, largest = on_a_shaken_plate(dt, 3.0)
    assert way == pytest.approx(1.0, abs=0.02)
    assert largest == pytest.approx(1.0, abs=0.02)


def test_a_block_on_a_heavy_belt_swings_by_the_speed_of_the_belt():
    """Between slips it stands on the belt. The belt of 10 t pressed on it with up to 88 times its weight."""
    middle, amplitude = on_a_belt(0.005)
    assert middle == pytest.approx(1.0, abs=0.02) and amplitude == pytest.approx(1.0, abs=0.02)
