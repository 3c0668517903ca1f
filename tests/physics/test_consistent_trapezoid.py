"""ctr, the consistent trapezoidal rule: second order, no loss of spin, and constraints that do not ring."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench, image, random_rotation
from scenes import add_boxes, mixed_scene, new_scene, rate, read_state, write_state

from dovetail.constitution import (
    AffineBodyCylindricalJoint,
    AffineBodyDrivingPrismaticJoint,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodySphericalJoint,
    AffineBodyUniversalJoint,
)

POTENTIALS = ("OrthoPotential", "ARAP")


def bench(dt: float, method: str = "ctr", exact: int = 0, **config: object) -> Bench:
    gravity = config.pop("gravity", (0.0, 0.0, 0.0))
    return Bench(
        {"joint/exact": exact, "dt": dt, "integrator/type": method, "integrator/bdf2_start": "bdf1", **TIGHT, **config},
        gravity,
    )


def orders(run, steps=(0.02, 0.01, 0.005, 0.0025)) -> np.ndarray:
    """Measured order from the differences of runs with halved steps."""
    found = [np.atleast_1d(run(dt)) for dt in steps]
    differences = [np.abs(a - b).max() for a, b in pairwise(found)]
    return np.log2(np.array(differences[:-1]) / differences[1:])


# ---- free bodies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("potential", POTENTIALS)
def test_a_free_box_keeps_its_spin(potential, start):
    """5 s at 5 rad/s and dt = 0.01 s, near the stable axis; bdf1 keeps 29 % of the energy."""
    scene = new_scene(gravity=[0, 0, 0], integrator__type="ctr")
    add_boxes(scene, velocities=[rate(np.eye(4), angular=(0.3, 5.0, 0.2))], potential=potential)
    world = start(scene)
    before = world.energies()["kinetic"]
    for _ in range(500):
        world.advance()
    # measured 1.4e-6 and 3.7e-6; the issue is what fourth-order terms of h ω = 0.05 leave
    assert world.energies()["kinetic"] == pytest.approx(before, rel=2e-5)


def test_a_ball_in_free_flight_falls_on_the_exact_parabola(start):
    """The trapezoidal rule is exact for constant accelerations, from the first step on and for any steps."""
    scene = new_scene(integrator__type="ctr")
    box = add_boxes(scene, velocities=[rate(np.eye(4), (1.0, 2.0, 0.0))])
    world = start(scene)
    time = 0.0
    for h in np.random.default_rng(1).uniform(0.001, 0.05, 50):
        scene.config["dt"] = h
        world.advance()
        time += h
    world.retrieve()
    expected = [time, 2.0 * time - 4.9 * time**2, 0.0]
    np.testing.assert_allclose(box.geometry.transforms.values[0, :3, 3], expected, atol=1e-12)  # round-off of 50 steps


# ---- mechanisms, loads and drives ------------------------------------------------------------------------------


def slider_on_a_hub(dt: float, exact: int = 0) -> np.ndarray:
    """A bead on a spoke of a free hub, both turning, pulled inwards by a force along the spoke: all at 0.5 s."""
    b = bench(dt, exact=exact)
    hub = b.rigid("hub", mass=2.0, inertia=(0.5, 0.5, 0.5), spin=(0, 0, 3.0))
    bead = b.rigid("bead", at=(0.5, 0, 0), spin=(0, 0, 3.0), velocity=(0.3, 1.5, 0))
    spoke = b.join(
        AffineBodyPrismaticJoint, [hub], [bead], (0, 0, 0), (1, 0, 0), strength=1e4,
        extras=[lambda sc: AffineBodyPrismaticJointExternalForce().apply_to(sc, -4.0)],
    )  # fmt: skip
    spoke["external_force/is_constrained"] = 1
    b.run(round(0.5 / dt))
    return np.concatenate([spoke["distance"], spoke["velocity"], image(bead, (0, 0, 0)), image(hub, (0, 0, 0))])


def pendulum_on_a_cart(dt: float, exact: int = 0) -> np.ndarray:
    """A rod hangs from a cart that a drive moves to and fro: coordinates and their velocities at 0.5 s."""
    b = bench(dt, exact=exact, gravity=(0, -9.81, 0))
    base = b.rigid("base", fixed=True)
    cart = b.rigid("cart")
    rod = b.rigid("rod", inertia=(1 / 12, 0.01, 1 / 12), at=(0, -0.5, 0))
    rail = b.join(
        AffineBodyPrismaticJoint, [base], [cart], (0, 0, 0), (1, 0, 0), strength=1e4,
        extras=[lambda sc: AffineBodyDrivingPrismaticJoint().apply_to(sc, 100.0)], name="rail",
    )  # fmt: skip
    hinge = b.join(AffineBodyRevoluteJoint, [cart], [rod], (0, 0, -0.5), (0, 0, 0.5), strength=1e4, name="hinge")
    rail["driving/is_constrained"] = 1
    for k in range(round(0.5 / dt)):
        rail["aim_distance"] = 0.3 * (1 - np.cos(4 * (k + 1) * dt))
        b.run()
    return np.concatenate([rail["distance"], hinge["angle"], rail["velocity"], hinge["velocity"]])


def spring_and_rod(dt: float, exact: int = 0) -> np.ndarray:
    """A rod on a hinge against a soft torsion spring of 4 N·m/rad that is a drive with a target at rest."""
    b = bench(dt, exact=exact)
    base = b.rigid("base", fixed=True)
    rod = b.rigid("rod", spin=(0, 0, 2.0))
    stiffness = 4.0 * dt**2 / 2.0  # K = γ_d (m_i + m_j) is a stiffness times h²
    hinge = b.join(
        AffineBodyRevoluteJoint, [base], [rod], (0, 0, -0.5), (0, 0, 0.5), strength=1e4,
        extras=[lambda sc: AffineBodyDrivingRevoluteJoint().apply_to(sc, stiffness)],
    )  # fmt: skip
    hinge["driving/is_constrained"] = 1
    b.run(round(0.5 / dt))
    return np.concatenate([hinge["angle"], hinge["velocity"]])


@pytest.mark.parametrize("exact", [0, 1], ids=["penalty", "exact"])
@pytest.mark.parametrize("run", [slider_on_a_hub, pendulum_on_a_cart, spring_and_rod])
def test_mechanisms_with_loads_and_drives_are_of_second_order(run, exact):
    """Nonlinear constraints, forces that turn with a body, targets that move, and springs that are no constraints."""
    # the next term is h ω times smaller, at most some per cent; of the spring the term of order 3 is still larger
    assert (orders(lambda dt: run(dt, exact)) > 1.88).all()


def test_a_soft_spring_swings_with_its_exact_frequency():
    """I = 0.1 kg·m² and 4 N·m/rad: ω = √40, amplitude 2/ω; ω²h² = 0.004."""
    omega = np.sqrt(40.0)
    angle, velocity = spring_and_rod(0.01)
    # the trapezoidal rule is late by (ωh)²/12 of the phase, 3e-4 · 3.2 rad
    assert angle == pytest.approx(2 / omega * np.sin(0.5 * omega), abs=1e-3)
    assert velocity == pytest.approx(2 * np.cos(0.5 * omega), abs=5e-3)


def angle_error(method: str, dt: float) -> float:
    """Error [rad] of a wheel of 2 kg·m² after ±20 N·m for half a second each."""
    b = bench(dt, method)
    base = b.rigid("base", fixed=True)
    wheel = b.rigid("wheel", inertia=(2.0, 2.0, 2.0))
    hinge = b.join(
        AffineBodyRevoluteJoint, [base], [wheel], (0, 0, -0.5), (0, 0, 0.5), strength=1e4,
        extras=[lambda sc: AffineBodyRevoluteJointExternalForce().apply_to(sc, 20.0)],
    )  # fmt: skip
    hinge["external_torque/is_constrained"] = 1
    half = round(0.5 / dt)
    b.run(half)
    hinge["external_torque"] = -20.0
    b.run(half)
    assert abs(hinge["velocity"][0]) < (1e-3 if method == "ctr" else 1.0)
    return abs(float(hinge["angle/multi_turn"][0]) - 2.5)


def test_steps_of_the_torque_are_followed():
    """τ = ±20 N·m: the angle is 2.5 rad again at rest. What is wrong falls with dt²: nothing rings."""
    errors = [angle_error("ctr", dt) for dt in (0.02, 0.01, 0.005)]
    assert errors[1] < 2e-3  # measured 1.0e-3 at 5 rad/s; bdf1 misses by 0.14 rad, bdf2 by 0.044 rad
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2.0, atol=0.1)


def test_neither_velocities_nor_reactions_flip_from_step_to_step():
    """A hanging chain of three that is hit: along the stiff joints there is nothing to see after a few steps.

    The trapezoidal rule by itself would let joint forces change their sign for ever.
    """
    b = bench(0.01, gravity=(0, 0, -10.0))
    base = b.rigid("base", fixed=True)
    links = [b.rigid(f"link {k}", at=(0, 0, -0.5 - k)) for k in range(3)]
    pins = np.array([[0, 0, -float(k)] for k in range(3)])
    joints = b.join(AffineBodySphericalJoint, [base, *links[:-1]], links, pins, strength=100.0)
    b.run(3)
    T, V = read_state(b.world)
    V[3, 2, 3] -= 1.0  # the last one is pushed down, against all joints
    write_state(b.world, T, V)
    forces = np.array(b.run(10, lambda: joints["reaction/force"][:, 2].copy()))
    speeds = np.abs(read_state(b.world)[1][1:, 2, 3]).max()
    # the weights of 3, 2 and 1 links; γ = 100 lets 1/100 of a disturbance through a step
    np.testing.assert_allclose(np.abs(forces[3:]), [[30.0, 20.0, 10.0]] * 7, rtol=1e-3)
    assert speeds < 1e-6


# ---- energy ----------------------------------------------------------------------------------------------------

KINDS = (
    AffineBodySphericalJoint,
    AffineBodyRevoluteJoint,
    AffineBodyPrismaticJoint,
    AffineBodyUniversalJoint,
    AffineBodyCylindricalJoint,
)


@pytest.mark.parametrize("exact", [0, 1], ids=["penalty", "exact"])
@pytest.mark.parametrize("seed", range(8))
def test_random_mechanisms_never_gain_energy(seed, exact):
    """Trees of both kinds of bodies on all kinds of joints, thrown with velocities that fit none of them."""
    rng = np.random.default_rng(seed)
    dt = float(rng.choice([0.01, 0.02]))
    b = Bench({"dt": dt, "integrator/type": "ctr", "joint/exact": exact}, gravity=(0, 0, -9.8))
    made = [(b.box("base", fixed=True), np.zeros(3))]
    for k, n in enumerate(rng.permutation(len(KINDS))):  # one of each: all take the same kernels
        left, at = made[int(rng.integers(max(0, len(made) - 2), len(made)))]
        away, axis = (v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
        right = b.box(
            f"body {k}", rng.uniform(0.1, 0.5, 3), at + away, random_rotation(rng), potential=POTENTIALS[k % 2],
            spin=2 * rng.normal(size=3), velocity=rng.normal(size=3),
        )  # fmt: skip
        kind = KINDS[n]
        points = (at + 0.5 * away, at + 0.5 * away + 0.5 * axis)[: len(kind.world_points)]
        b.join(kind, [left], [right], *points, name=f"joint {k}")
        made.append((right, at + away))

    def energy() -> float:
        found = b.world.energies()
        return sum(found[name] for name in ("kinetic", "gravity", "shape", "joint"))

    begun, moving = energy(), b.world.energies()["kinetic"]
    b.world.advance()
    fitted = energy()
    assert fitted < begun, "what does not fit the joints is lost in the first step"
    highest = fitted
    for _ in range(100):
        b.world.advance()
        assert b.world.report.converged
        highest = max(highest, energy())
    assert highest < begun
    # the trapezoidal rule keeps energies to (ωh)²: measured up to 1.6e-3 after the first step
    assert highest - fitted < 2e-3 * moving


# ---- state -----------------------------------------------------------------------------------------------------


def test_position_and_velocity_are_all_that_a_step_needs(start, tmp_path):
    """A world that is given Q and V of another one goes on as that one does, bit by bit."""
    first = start(mixed_scene(integrator__type="ctr"), tmp_path)
    for _ in range(7):
        first.advance()
    second = start(mixed_scene(integrator__type="ctr"), tmp_path)
    second.advance()
    second.advance()  # so that it has seen the same targets as long
    write_state(second, *read_state(first))
    for _ in range(5):
        first.advance()
        second.advance()
    for one, two in zip(read_state(first), read_state(second), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("spread", [0.3, 0.9])
def test_steps_of_random_length_keep_the_order(spread, rng):
    """Of a pendulum with a drive on top: each random step is halved again and again."""
    coarse = rng.uniform(1 - spread, 1 + spread, 25)
    coarse *= 0.5 / coarse.sum()

    def run(pieces: int) -> np.ndarray:
        b = bench(0.01, gravity=(0, -9.81, 0))
        base = b.rigid("base", fixed=True)
        cart = b.rigid("cart")
        rod = b.rigid("rod", inertia=(1 / 12, 0.01, 1 / 12), at=(0, -0.5, 0), spin=(0, 0, 2), velocity=(1, 0, 0))
        rail = b.join(
            AffineBodyPrismaticJoint, [base], [cart], (0, 0, 0), (1, 0, 0), strength=1e4,
            extras=[lambda sc: AffineBodyDrivingPrismaticJoint().apply_to(sc, 100.0)], name="rail",
        )  # fmt: skip
        hinge = b.join(AffineBodyRevoluteJoint, [cart], [rod], (0, 0, -0.5), (0, 0, 0.5), strength=1e4, name="hinge")
        rail["driving/is_constrained"] = 1
        time = 0.0
        for h in np.repeat(coarse / pieces, pieces):
            time += h
            b.scene.config["dt"] = h
            rail["aim_distance"] = 0.3 * (1 - np.cos(4 * time))
            b.run()
        return np.concatenate([rail["distance"], hinge["angle"]])

    found = [run(n) for n in (1, 2, 4, 8)]
    differences = [np.abs(a - b).max() for a, b in pairwise(found)]
    # lengths that jump disturb the leading term, but a lost order would show as 1
    np.testing.assert_allclose(np.log2(np.array(differences[:-1]) / differences[1:]), 2.0, atol=0.4)


def test_a_soft_body_rings_longer_than_with_bdf1(start):
    """κ = 2e3 Pa: a stretched box breathes with ω h = 0.16. ctr keeps that, bdf1 damps it within a second."""
    left = {}
    for method in ("bdf1", "ctr"):
        scene = new_scene(gravity=[0, 0, 0], integrator__type=method)
        T = np.eye(4)
        V = np.zeros((4, 4))
        V[0, 0] = 0.5
        add_boxes(scene, [T], (1.0, 1.0, 1.0), velocities=[V], kappa=2e3)
        world = start(scene)
        energy = []
        for _ in range(100):
            world.advance()
            found = world.energies()
            energy.append(found["kinetic"] + found["shape"])
        left[method] = energy[-1] / energy[0]
    assert left["bdf1"] < 0.2
    assert 0.8 < left["ctr"] <= 1.0 + 1e-3


def falling_chain(gamma: float):
    """Forty hinged links from horizontal, which are solved by sweeps along the tree; and their energy."""
    b = bench(0.01, gravity=(0, 0, -9.8))
    size = (0.1, 0.02, 0.02)
    base = b.box("base", size, (-0.05, 0, 0), fixed=True)
    links = b.box("links", size, [(0.1 * k + 0.05, 0, 0) for k in range(40)])
    bodies = [(links, k) for k in range(40)]
    pins = np.array([[0.1 * k, 0, 0] for k in range(40)])
    half = np.array([0, 0.01, 0])
    b.join(AffineBodyRevoluteJoint, [base, *bodies[:-1]], bodies, pins - half, pins + half, strength=gamma)

    def energy() -> float:
        found = b.world.energies()
        return sum(found[name] for name in ("kinetic", "gravity", "shape", "joint"))

    return b, energy


@pytest.mark.parametrize("gamma", [100.0, np.inf])
def test_a_long_chain_keeps_its_energy_while_it_falls(gamma):
    """Nothing is lost before anything cracks."""
    b, energy = falling_chain(gamma)
    begun = energy()
    seen = np.array(b.run(30, energy)) - begun
    fallen = begun - b.world.energies()["gravity"]
    # the kink at the base turns links by radians within a few steps: measured 1.6e-4; bdf1 loses 4e-2
    assert np.abs(seen).max() < 5e-4 * fallen


@pytest.mark.parametrize("gamma", [100.0, np.inf])
def test_a_whip_that_cracks_does_not_end_up_with_more_than_it_had(gamma):
    """For 4 s: links turn by more than a radian in a step, where the filter takes most of a velocity away."""
    b, energy = falling_chain(gamma)
    begun = energy()
    seen = np.array(b.run(400, energy)) - begun
    # energies go up and down by some per cent, after a tenth of what was set free is lost; measured: none above 0
    assert seen.max() < 1e-3 * -seen.min()
