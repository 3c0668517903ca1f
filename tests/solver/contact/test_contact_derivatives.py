"""Energy, gradient and Hessian of contact as the solver assembles them, over bodies of all shapes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement

import ipctk
import numpy as np
import pytest
from contact_scenes import BOX, MESHES, TETRAHEDRON, Probe, Stage, random_rotation
from scenes import pose, rotation

D_HAT = 0.05
PAIRS = list(combinations_with_replacement(MESHES, 2))


def close_pair(rng: np.random.Generator, names: tuple[str, str], mu: float = 0.0, **settings: float) -> Probe:
    """Two bodies of these shapes at random attitudes, about d̂/2 from each other, over a half-plane they also feel."""
    stage = Stage(d_hat=D_HAT, **settings)
    stage.material(mu, 1e8)
    start = rng.normal(size=3)
    start *= 1.8 / np.linalg.norm(start)  # no body is larger than a ball of 0.87 m
    first = stage.add("first", MESHES[names[0]], [pose((0, 0, 0), random_rotation(rng))])
    second = stage.add("second", MESHES[names[1]], [pose(start, random_rotation(rng))])
    lowest = min(
        (slot.geometry.positions.values @ T[:3, :3].T + T[:3, 3])[:, 2].min()
        for slot in (first, second)
        for T in slot.geometry.transforms.values
    )
    stage.ground(lowest - 0.6 * D_HAT)
    probe = stage.probe()
    bring_together(probe, 0.5 * D_HAT)
    return probe


def bring_together(probe: Probe, gap: float) -> None:
    """Move the second body towards the first until the nearest contact is `gap` away, by collision-free steps."""
    contact = probe.contact
    for _ in range(100):
        probe.look(probe.Q)
        distances = contact.candidates.known[:, 0]
        between = contact.candidates.pairs[:, 2] >= 0
        nearest = distances[between].min(initial=np.inf)
        if nearest < 1.05 * gap:
            return
        towards = probe.Q[0, 0] - probe.Q[1, 0]
        reach = min(nearest - gap, 0.5 * np.linalg.norm(towards)) if np.isfinite(nearest) else D_HAT
        probe.Q[1, 0] += reach * towards / np.linalg.norm(towards)
    raise AssertionError("the bodies did not meet")


def direction(rng: np.random.Generator, probe: Probe) -> np.ndarray:
    return rng.normal(size=probe.Q.shape)


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_gradient_is_the_derivative_of_the_energy(rng, names):
    probe = close_pair(rng, names)
    g, _ = probe.derivatives(probe.Q)
    assert np.abs(g).max() > 0
    for _ in range(3):
        dQ = direction(rng, probe)
        step = 1e-6 * D_HAT
        slope = (probe.energy(probe.Q + step * dQ) - probe.energy(probe.Q - step * dQ)) / (2 * step)
        # second-order error: (1e-6)² of a curvature that is some 1e2 times force/d̂; and round-off of E over the step
        noise = 1e-15 * probe.energy(probe.Q) / step
        assert g @ dQ.reshape(-1) == pytest.approx(slope, rel=1e-6, abs=10 * noise)


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_hessian_is_positive_semi_definite_and_symmetric(rng, names):
    probe = close_pair(rng, names, mu=0.5)
    _, H = probe.derivatives(probe.Q)
    values = np.linalg.eigvalsh(H)
    assert values[-1] > 0
    assert values[0] >= -1e-12 * values[-1]  # round-off of the eigenvalues of a 24×24 matrix


def largest_jump(energy: Callable[[float], float], low: float, high: float) -> float:
    """|E(b) − E(a)| over the interval of relative width 2⁻⁴⁰ that halving towards the larger change leads to."""
    E_low, E_high = energy(low), energy(high)
    for _ in range(40):
        middle = (low + high) / 2
        E_middle = energy(middle)
        if abs(E_middle - E_low) > abs(E_high - E_middle):
            high, E_high = middle, E_middle
        else:
            low, E_low = middle, E_middle
    return abs(E_high - E_low)


@pytest.mark.parametrize("names", PAIRS, ids="-".join)
def test_energy_is_continuous_where_closest_features_change(rng, names):
    """A body slides past the other over faces, edges and vertices: contacts come and go, the energy never jumps."""
    probe = close_pair(rng, names)
    between = probe.Q[0, 0] - probe.Q[1, 0]
    aside = np.cross(between, rng.normal(size=3))
    motion = np.zeros_like(probe.Q)
    motion[1, 0] = 0.4 * aside / np.linalg.norm(aside)
    motion[1, 1:] = 0.1 * rng.normal(size=(3, 3))
    probe.look(probe.Q, motion)

    def energy(t: float) -> float:
        return probe.energy(probe.Q + t * motion, look=False)

    times = np.linspace(-1, 1, 400)
    E, nearest = np.array([(energy(t), probe.contact.candidates.known[:, 0].min() ** 2) for t in times]).T
    # from the middle outward to where the gap is larger than a step of 3 mm: nothing has passed through anything
    blocked = np.flatnonzero(~(nearest > (0.08 * D_HAT) ** 2))
    middle = len(times) // 2
    first, last = max(blocked[blocked < middle], default=-1) + 1, min(blocked[blocked > middle], default=len(times))
    times, E = times[first:last], E[first:last]
    changes = np.flatnonzero(E[1:] * E[:-1] > 0)
    assert len(changes) > 10
    for k in changes[np.argsort(-np.abs(np.diff(np.log(E[E > 0])))[: len(changes)])][:12]:
        # a width of 1e-14 m changes a smooth energy by some 1e-14 m / gap
        assert largest_jump(energy, times[k], times[k + 1]) <= 1e-9 * max(E[k], E[k + 1])


def slid(rng: np.random.Generator, probe: Probe, distance: float) -> np.ndarray:
    """The second body moved and turned a little, by about `distance`."""
    Q = probe.Q.copy()
    Q[1] += distance * rng.uniform(-1, 1, (4, 3))
    return Q


@pytest.mark.parametrize(("slip", "carried"), [(0.05, 0.0), (0.7, 0.0), (20.0, 0.0), (0.1, 0.5)])
@pytest.mark.parametrize("names", [("box", "box"), ("star", "torus"), ("tetrahedron", "L_shape")], ids="-".join)
def test_friction_derivatives_are_those_of_its_energy(names, slip, carried):
    """Slips from well below to well above ε, one with a past; friction is what the same scene without it has not."""
    rng = np.random.default_rng(5)
    rough, smooth = (close_pair(np.random.default_rng(8), names, mu) for mu in (0.5, 0.0))
    for probe in (rough, smooth):
        probe.look(probe.Q)
    assert rough.contact.friction.count > 0 and smooth.contact.friction.count == 0
    epsilon = rough.contact.friction.epsilon
    rough.contact.friction.carried[:, 0] = carried * epsilon
    Q = slid(rng, rough, slip * epsilon)

    def friction(Q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        E = rough.energy(Q, look=False) - smooth.energy(Q, look=False)
        (g, H), (g0, H0) = (probe.derivatives(Q, look=False) for probe in (rough, smooth))
        return E, g - g0, H - H0

    _, g, H = friction(Q)
    step = 1e-4 * slip * epsilon
    for _ in range(3):
        dQ = direction(rng, rough)
        dQ[0] = 0.0
        before, after = friction(Q - step * dQ), friction(Q + step * dQ)
        # second-order error (1e-4)², and round-off of the barrier's energy and force, which are subtracted
        noise = 1e-14 * rough.energy(Q, look=False) / step
        assert g @ dQ.reshape(-1) == pytest.approx((after[0] - before[0]) / (2 * step), rel=1e-5, abs=noise)
        scale = np.abs(H @ dQ.reshape(-1)).max()
        np.testing.assert_allclose(H @ dQ.reshape(-1), (after[1] - before[1]) / (2 * step), atol=1e-5 * scale)


def corner_over_ground(gap: float, mu: float, kappa: float, d_hat: float) -> Probe:
    """A tetrahedron whose corner is over a half-plane, in a single contact."""
    stage = Stage(d_hat=d_hat)
    stage.material(mu, kappa)
    stage.ground()
    upright = rotation((1, -1, 0), np.arctan(np.sqrt(2)) + np.pi)  # its corner (1, 1, 1) points down
    points = TETRAHEDRON[0] @ upright.T
    stage.add("corner", TETRAHEDRON, [pose((0, 0, gap - points[:, 2].min()), upright)])
    assert np.sort(points[:, 2])[1] - points[:, 2].min() > d_hat
    probe = stage.probe()
    probe.look(probe.Q)
    return probe


def slid_along(probe: Probe, direction: np.ndarray, slip: float) -> np.ndarray:
    """The body moved so that its contact has slid by so much, along a direction (2,) of its tangents."""
    Q = probe.Q.copy()
    Q[0, 0] += slip * direction @ probe.contact.friction.tangent[0]
    return Q


@pytest.mark.parametrize("slip", [0.9, 1.5, 40.0])
@pytest.mark.parametrize("aim", [-0.8, 0.0, 0.3, 0.7])
def test_friction_yields_along_its_slip_to_where_the_contact_is_expected_to_stick(slip, aim):
    """H (u − a) = F(u) − F(a) with slips u beyond a, in units of ε; a force of half of the load where a is unknown."""
    probe = corner_over_ground(4e-3, 0.3, 1e7, 1e-2)
    e, epsilon, load = np.array([0.6, -0.8]), probe.contact.friction.epsilon, probe.contact.friction.load[0]
    direction = e @ probe.contact.friction.tangent[0]
    g, H = probe.derivatives(slid_along(probe, e, slip * epsilon), look=False, aim=aim * epsilon * e)
    at_aim, _ = probe.derivatives(slid_along(probe, e, aim * epsilon), look=False)
    expected = 0.5 * load if aim == 0.0 else direction @ at_aim[:3]
    found = direction @ H[:3, :3] @ direction * (slip - aim) * epsilon
    assert found == pytest.approx(direction @ g[:3] - expected, rel=1e-9)


@pytest.mark.parametrize("slip", [0.4, 3.0])
def test_friction_expects_what_a_step_leads_to(slip):
    """By the stiffness that the step was found with, and at most the load."""
    probe = corner_over_ground(4e-3, 0.3, 1e7, 1e-2)
    f, e = probe.contact.friction, np.array([0.6, -0.8])
    epsilon, load, across = f.epsilon, f.load[0], np.array([0.8, 0.6])
    for back, aside in ((0.5, 0.1), (slip, 0.0), (1.8 * slip, -0.2), (-5.0, 1.0)):
        start = slid_along(probe, e, slip * epsilon)
        g, H = probe.derivatives(start, look=False, aim=0.1 * epsilon * e)
        y = np.zeros((1, 12))
        y[0, :3] = (back * e + aside * across) * epsilon @ f.tangent[0]
        f.foresee(y, probe.model.islands, 1.0)
        force = f.tangent[0] @ (g - H @ y[0])[:3]
        force *= min(1.0, load / np.linalg.norm(force))
        Q = probe.Q.copy()
        Q[0, 0] += f.aim[0] @ f.tangent[0]
        held, _ = probe.derivatives(Q, look=False)
        # the root in the inverse of the law loses half of the digits where the contact slides
        np.testing.assert_allclose(f.tangent[0] @ held[:3], force, atol=1e-7 * load)


def test_one_sliding_contact_agrees_with_ipctk():
    """A corner over a half-plane: barrier, normal force and friction by ipctk's functions of distance and slip."""
    gap, mu, kappa, d_hat = 4e-3, 0.3, 1e7, 1e-2
    probe = corner_over_ground(gap, mu, kappa, d_hat)
    h2 = probe.h**2
    normal = -kappa * ipctk.barrier_first_derivative(gap**2, d_hat**2) * 2 * gap
    for slip in (0.3e-4, 0.99e-4, 5e-4):
        Q = probe.Q.copy()
        Q[0, 0, :2] += slip * np.array([0.6, -0.8])
        E = kappa * ipctk.barrier(gap**2, d_hat**2) + mu * normal * ipctk.smooth_friction_f0(
            slip, probe.contact.friction.epsilon
        )
        g, _ = probe.derivatives(Q, look=False)
        tangential = mu * normal * ipctk.smooth_friction_f1(slip, probe.contact.friction.epsilon)
        assert probe.energy(Q, look=False) == pytest.approx(h2 * E, rel=1e-10)
        np.testing.assert_allclose(g[:3], h2 * np.array([0.6 * tangential, -0.8 * tangential, -normal]), rtol=1e-10)


@pytest.mark.parametrize("angle", [1e-6, 3e-3, 0.02, 0.0316, 0.05])
def test_nearly_parallel_edges_have_the_gradient_of_their_faded_energy(rng, angle):
    """Two boxes edge on edge at small angles, where the mollifier's own derivative counts (below 0.0316 rad)."""
    stage = Stage(d_hat=D_HAT)
    stage.material(0.0, 1e8)
    on_edge = rotation((0, 1, 0), np.pi / 4)
    top = np.sqrt(0.5)
    stage.add("lower", BOX, [pose((0, 0, 0), on_edge)])
    stage.add("upper", BOX, [pose((0.01, 0.3, 2 * top + 0.02), rotation((0, 0, 1), angle) @ on_edge)])
    probe = stage.probe()
    g, H = probe.derivatives(probe.Q)
    for _ in range(3):
        dQ = direction(rng, probe)
        step = min(1e-3 * angle, 1e-6)
        energies = [probe.energy(probe.Q + sign * step * dQ) for sign in (1, -1)]
        noise = 1e-15 * max(energies) / step
        assert g @ dQ.reshape(-1) == pytest.approx((energies[0] - energies[1]) / (2 * step), rel=1e-4, abs=20 * noise)
    values = np.linalg.eigvalsh(H)
    assert values[0] >= -1e-12 * values[-1]
