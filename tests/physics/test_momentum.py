"""What the discrete scheme conserves, for single bodies and for jointed ones.

In every step c M̂ (Q − Q̃) is the sum of all inner forces (shape, joints) times h², taken where the step ends. Inner
forces have neither a resultant nor a moment there. From that follow, for free systems:

    linear momentum     conserved to round-off by every integrator
    angular momentum    not conserved: L_{n+1} − L_n = h Σ M̂_ij V_{n+1,i} × V_{n,j} in bdf1, an error of the
                        integrator's order; the balance itself holds to round-off
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scenes import TIGHT, add_boxes, new_scene, pose, rate, read_state, rotation

from dovetail import Scene, World
from dovetail.constitution import AffineBodyPrismaticJoint, AffineBodyRevoluteJoint, AffineBodySphericalJoint
from dovetail.solver.integrator import INTEGRATORS

STILL = (0.0, 0.0, 0.0)
SIZES = ((0.4, 0.2, 0.3), (0.3, 0.3, 0.1), (0.2, 0.5, 0.2), (0.25, 0.15, 0.35))
POTENTIALS = ("OrthoPotential", "ARAP", "OrthoPotential", "ARAP")


def tumbling(joined: bool, rng: np.random.Generator, **config: object) -> Scene:
    """Four bodies of both kinds that spin and drift, free or joined to a chain by three kinds of joints."""
    scene = new_scene(**{name.replace("/", "__"): value for name, value in TIGHT.items()}, **config)
    slots = []
    for k, (size, potential) in enumerate(zip(SIZES, POTENTIALS, strict=True)):
        T = pose((0.5 * k, 0.1 * k, 0), rotation(rng.normal(size=3), 0.3 * k))
        V = rate(T, rng.normal(size=3), rng.normal(size=3))
        slots.append(
            add_boxes(scene, [T], size, (0.05, 0.02, -0.03), name=f"body {k}", velocities=[V], potential=potential)
        )
    if joined:
        anchors = [np.array([[0.5 * k + 0.25, 0.0, 0.0]]) for k in range(3)]
        up = np.array([[0.1, 0.0, 1.0]])
        ends = [([a], [0], [b], [0], [100.0]) for a, b in pairwise(slots)]
        joints = [
            AffineBodySphericalJoint().create_geometry(anchors[0], *ends[0]),
            AffineBodyRevoluteJoint().create_geometry(anchors[1], anchors[1] + up, *ends[1]),
            AffineBodyPrismaticJoint().create_geometry(anchors[2], anchors[2] + up, *ends[2]),
        ]
        for k, joint in enumerate(joints):
            scene.objects.create(f"joint {k}").geometries.create(joint)
    return scene


def masses(scene: Scene) -> np.ndarray:
    """M̂ (n, 4, 4) in body order: OrthoPotential first, then ARAP."""
    found = []
    for uid in (1, 2):
        for slot, _ in scene.geometries:
            meta = slot.geometry.meta
            if meta["constitution_uid"][0] == uid:
                M = np.empty((4, 4))
                M[0, 0] = meta["abd_mass"][0]
                M[0, 1:] = M[1:, 0] = meta["abd_mass_x_bar"][0]
                M[1:, 1:] = meta["abd_mass_x_bar_x_bar"][0]
                found.append(M)
    return np.array(found)


def rows(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Q and V (n, 4, 3)."""
    return tuple(np.concatenate([X[:, :3, 3][:, None], X[:, :3, :3].swapaxes(1, 2)], axis=1) for X in read_state(world))


def resultant(R: np.ndarray) -> np.ndarray:
    return R[:, 0].sum(axis=0)


def moment(Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    return np.cross(Q, R).sum(axis=(0, 1))


@pytest.fixture(params=sorted(INTEGRATORS))
def method(request) -> str:
    return request.param


@pytest.fixture(params=[False, True], ids=["free", "joined"])
def joined(request) -> bool:
    return request.param


@pytest.mark.parametrize("method", ["bdf1", "bdf2"])
def test_inner_forces_have_no_resultant_and_no_moment_where_the_step_ends(method, joined, start, rng):
    scene = tumbling(joined, rng, integrator__type=method)
    table, h, M = INTEGRATORS[method], 0.01, masses(scene)
    g = np.zeros((1, 4, 3))
    g[0, 0, 1] = -9.8
    world = start(scene)
    Q, V = rows(world)
    before = Q, V
    for _ in range(40):
        world.advance()
        new = rows(world)
        (a0, a1), (b0, b1) = table.position, table.velocity
        Q_tilde = a0 * Q + a1 * before[0] + h * (b0 * V + b1 * before[1]) + table.acceleration * h * h * g
        forces = table.weight * M @ (new[0] - Q_tilde) / h**2
        size = np.abs(forces).sum()
        # forces of some 1e2 N are differences of ones over h²: 1e-16/1e-4 · 50 kg = 1e-10, a few of them;
        # moments have three times as many
        assert np.abs(resultant(forces)).max() < 1e-9 + 1e-12 * size
        assert np.abs(moment(new[0], forces)).max() < 3e-9 + 1e-12 * size
        assert size > 1.0, "there are inner forces at all"
        before, (Q, V) = (Q, V), new


def test_linear_momentum_is_kept_to_round_off(method, joined, start, rng):
    scene = tumbling(joined, rng, integrator__type=method, integrator__bdf2_start="bdf1", gravity=STILL)
    M = masses(scene)
    world = start(scene)
    P = resultant(M @ rows(world)[1])
    for _ in range(200):
        world.advance()
        # a velocity is a difference over h: 1e-16/h times 60 kg is 1e-12 a step
        np.testing.assert_allclose(resultant(M @ rows(world)[1]), P, atol=2e-10)


def test_with_gravity_linear_momentum_grows_by_the_weight(start, rng):
    scene = tumbling(True, rng)
    M = masses(scene)
    world = start(scene)
    P = resultant(M @ rows(world)[1])
    for n in range(1, 51):
        world.advance()
        expected = P + np.array([0, -9.8 * 0.01 * n * M[:, 0, 0].sum(), 0])
        np.testing.assert_allclose(resultant(M @ rows(world)[1]), expected, atol=2e-10)  # as above


def test_the_balance_of_angular_momentum_of_implicit_euler_holds_to_round_off(joined, start, rng):
    scene = tumbling(joined, rng, gravity=STILL)
    M = masses(scene)
    world = start(scene)
    Q, V = rows(world)
    L, lost = moment(Q, M @ V), 0.0
    for _ in range(50):
        world.advance()
        Q, new = rows(world)
        now = moment(Q, M @ new)
        # as for the linear one, with levers of 1 m
        np.testing.assert_allclose(now - L, 0.01 * moment(new, M @ V), atol=2e-10)
        lost += np.abs(now - L).max()
        L, V = now, new
    assert lost > 1e-3, "the step's own error is far above that"


def test_the_error_in_angular_momentum_is_of_the_order_of_the_integrator(method, start, rng):
    errors = []
    for count in (20, 40, 80):  # with more steps ctr comes down to what strains of 1e-8 add
        scene = tumbling(
            False, np.random.default_rng(3), integrator__type=method, integrator__bdf2_start="bdf1", gravity=STILL,
            dt=0.2 / count,
        )  # fmt: skip
        M = masses(scene)
        world = start(scene)
        Q, V = rows(world)
        L = moment(Q, M @ V)
        for _ in range(count):
            world.advance()
        Q, V = rows(world)
        errors.append(np.abs(moment(Q, M @ V) - L).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, INTEGRATORS[method].order, atol=0.25)  # h ω = 0.03, and a first step of bdf1


def test_a_consistent_start_keeps_momentum_and_what_joints_leave_free(start, rng):
    """Velocities that fit no joint lose what the joints forbid, as in a plastic impact, and nothing else."""
    scene = tumbling(True, rng, integrator__type="ctr", gravity=STILL)
    M = masses(scene)
    world = start(scene)
    Q, V = rows(world)
    P, L, E = resultant(M @ V), moment(Q, M @ V), 0.5 * np.sum(V * (M @ V))
    world.advance()
    Q, V = rows(world)
    np.testing.assert_allclose(resultant(M @ V), P, atol=2e-10)  # as above
    # what γ = 100 lets through, 1/100 of the velocities, moves lever arms of 1 m by 1e-4 m in the step
    np.testing.assert_allclose(moment(Q, M @ V), L, atol=3e-4 * np.linalg.norm(L))
    assert 0.5 * np.sum(V * (M @ V)) < 0.9 * E
