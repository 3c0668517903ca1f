"""Energies, coordinates and laws that joints are made of: every registered one is checked against its derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from dense_blocks import gradient, hessian
from joint_scenes import random_rotation

from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.solver.joint.function import COORDINATES, ENERGIES, LAWS, EnergyFunction
from dovetail.solver.joint.laws import LawBatch, Laws, assemble_laws, law_energies
from dovetail.solver.joint.stencil import Stencils
from dovetail.solver.joint.terms import Terms
from dovetail.world.lower import joints as _built_in  # noqa: F401  registers the functions

STEP = 1e-5
# central differences: truncation STEP² = 1e-10 times third derivatives, round-off 1e-16/STEP = 1e-11, both times values
# of order 1 to 100
FD_TOL = 1e-7

SEEDS = range(8)


def _parallel(F, p, exact, g, H):
    """ψ = K/2 |u × v|², an energy as users write them: the package's own joints are rows and laws."""
    K = p[0]
    uu = F[0] * F[0] + F[1] * F[1] + F[2] * F[2]
    vv = F[3] * F[3] + F[4] * F[4] + F[5] * F[5]
    uv = F[0] * F[3] + F[1] * F[4] + F[2] * F[5]
    for a in range(3):
        u, v = F[a], F[3 + a]
        g[a] = K * (vv * u - uv * v)
        g[3 + a] = K * (uu * v - uv * u)
        for b in range(3):
            same = 1.0 if a == b else 0.0
            H[6 * a + b] = K * (vv * same - v * F[3 + b])
            H[6 * (3 + a) + 3 + b] = K * (uu * same - u * F[b])
            mixed = u * F[3 + b] - uv * same
            if exact > 0.0:
                mixed += u * F[3 + b] - v * F[b]
            H[6 * a + 3 + b] = K * mixed
            H[6 * (3 + b) + a] = K * mixed
    c0 = F[1] * F[5] - F[2] * F[4]
    c1 = F[2] * F[3] - F[0] * F[5]
    c2 = F[0] * F[4] - F[1] * F[3]
    return 0.5 * K * (c0 * c0 + c1 * c1 + c2 * c2)


PARALLEL = EnergyFunction("parallel", _parallel, (True, True, False, True, True), 2, ("K [kg]",))


def over(registry, name="function", more=()):
    """Every function of a registry that the package itself defines, and more."""
    own = [f for f in registry.values() if f.function.__module__.startswith("dovetail.")] + list(more)
    return pytest.mark.parametrize(name, own, ids=[f.name for f in own])


energies, coordinates, laws = over(ENERGIES, more=[PARALLEL]), over(COORDINATES), over(LAWS)


def slopes(f, x):
    """Central differences of f (scalar or array) by every entry of x."""
    columns = []
    for k in range(len(x)):
        e = np.zeros(len(x))
        e[k] = STEP
        columns.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * STEP))
    return np.array(columns)


def close(found, expected):
    scale = max(1.0, np.abs(expected).max())
    return np.abs(found - expected).max() <= FD_TOL * scale


def psi(function, F, p, exact=1.0):
    n = len(F)
    g, H = np.zeros(n), np.zeros(n * n)
    value = function.function(F, p, exact, g, H)
    return value, g, H.reshape(n, n)


def x_of(function, F):
    n = len(F)
    dx, d2x = np.zeros(n), np.zeros(n * n)
    value = function.function(F, 1.0, dx, d2x)
    return value, dx, d2x.reshape(n, n)


def phi(function, x, p):
    d = np.zeros(3)
    return function.function(x, p, d), d[0], d[1]


def parameters_of(function, rng):
    """Random parameters in ascending order, so that a lower bound is below an upper one."""
    return np.sort(rng.uniform(0.5, 2, len(function.parameters)))


def sample(function, seed):
    """Random rows F with parameters, for energies."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=3 * function.rows), parameters_of(function, rng)


def rows_of(function, seed):
    """Random rows F, for coordinates."""
    return np.random.default_rng(seed).normal(size=3 * function.rows)


@energies
@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_is_the_derivative_of_the_energy(function, seed):
    F, p = sample(function, seed)
    assert close(psi(function, F, p)[1], slopes(lambda F: psi(function, F, p)[0], F))


@energies
@pytest.mark.parametrize("seed", SEEDS)
def test_exact_hessian_is_the_derivative_of_the_gradient(function, seed):
    F, p = sample(function, seed)
    assert close(psi(function, F, p)[2], slopes(lambda F: psi(function, F, p)[1], F))


@energies
@pytest.mark.parametrize("seed", SEEDS)
def test_safe_hessian_is_positive_semidefinite_and_keeps_energy_and_gradient(function, seed):
    F, p = sample(function, seed)
    value, g, H = psi(function, F, p, exact=0.0)
    assert np.array_equal(H, H.T)
    # eigenvalues of a matrix with entries of order 10 carry round-off of some 1e-15
    assert np.linalg.eigvalsh(H)[0] >= -1e-12 * np.abs(H).max()
    assert (value, *g) == (psi(function, F, p)[0], *psi(function, F, p)[1])


@energies
@pytest.mark.parametrize("seed", SEEDS)
def test_an_energy_does_not_change_when_the_world_is_turned(function, seed):
    F, p = sample(function, seed)
    turned = (F.reshape(-1, 3) @ random_rotation(np.random.default_rng(seed)).T).ravel()
    assert psi(function, turned, p)[0] == pytest.approx(psi(function, F, p)[0], rel=1e-12)


@energies
def test_the_parameters_of_an_energy_are_named(function):
    assert function.rows >= 1
    assert all(function.parameters)


@coordinates
@pytest.mark.parametrize("seed", SEEDS)
def test_a_coordinate_has_the_derivatives_it_says(function, seed):
    F = rows_of(function, seed)
    _, dx, d2x = x_of(function, F)
    wrap = function.period or np.inf

    def difference(F_near):
        away = x_of(function, F_near)[0] - x_of(function, F)[0]
        return away - (wrap * np.round(away / wrap) if np.isfinite(wrap) else 0.0)

    assert close(dx, slopes(difference, F))
    assert close(d2x, slopes(lambda F: x_of(function, F)[1], F))


@coordinates
@pytest.mark.parametrize("seed", SEEDS)
def test_a_coordinate_does_not_change_when_the_world_is_turned(function, seed):
    F = rows_of(function, seed)
    turned = (F.reshape(-1, 3) @ random_rotation(np.random.default_rng(seed)).T).ravel()
    assert x_of(function, turned)[0] == pytest.approx(x_of(function, F)[0], abs=1e-12)


@coordinates
@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_derivatives_of_a_coordinate_do_not_depend_on_exact(function, seed):
    F = rows_of(function, seed)
    n = len(F)
    dx = np.zeros(n)
    value = function.function(F, 0.0, dx, np.zeros(n * n))
    assert (value, *dx) == (x_of(function, F)[0], *x_of(function, F)[1])


@laws
@pytest.mark.parametrize("x", np.linspace(-3, 3, 13) + 0.01)
def test_a_law_is_convex_and_has_the_derivatives_it_says(function, x):
    p = parameters_of(function, np.random.default_rng(1))
    if function.name == "stop":
        p[:3], x = (-1e-4, 0.1e-4, np.inf), -0.45e-4 + 0.15e-4 * x  # between bounds so near that both barriers act
    value, first, second = phi(function, x, p)
    if np.isinf(value):
        return
    assert close(first, slopes(lambda x: phi(function, x[0], p)[0], np.array([x])))
    assert close(second, slopes(lambda x: phi(function, x[0], p)[1], np.array([x])))
    assert value >= 0.0
    assert second >= 0.0


# ---- the limit in particular ------------------------------------------------------------------------------

TINY = 1e-12


@pytest.mark.parametrize("width", [0.0, 0.5])
def test_a_limit_is_silent_inside_and_on_its_borders(width):
    p = np.array([-0.25, -0.25 + width, 7.0])
    for x in (p[0], p[1], p[0] + width / 2, p[0] + min(TINY, width), p[1] - min(TINY, width)):
        assert phi(LAWS["limit"], x, p) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("width", [0.0, 0.5])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_limit_pushes_back_right_outside_its_borders(width, side):
    p = np.array([1.0, 1.0 + width, 7.0])
    value, first, second = phi(LAWS["limit"], (p[0] if side < 0 else p[1]) + side * TINY, p)
    assert value > 0.0
    assert side * first > 0.0
    assert second > 0.0


@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 3.0), (2.0, 2.0)])
def test_a_limit_is_a_cubic_of_the_excess_over_its_width(lower, upper):
    p = np.array([lower, upper, 7.0])
    width = upper - lower or 1.0
    for excess in (0.1, 1.0, 5.0):
        assert phi(LAWS["limit"], upper + excess, p)[0] == pytest.approx(7.0 * (excess / width) ** 3, rel=1e-14)
        assert phi(LAWS["limit"], lower - excess, p)[0] == pytest.approx(7.0 * (excess / width) ** 3, rel=1e-14)


def test_the_width_of_a_limit_does_not_change_how_hard_it_is_at_the_same_relative_excess():
    narrow = phi(LAWS["limit"], 0.1 + 0.01, np.array([0.0, 0.1, 3.0]))[0]
    wide = phi(LAWS["limit"], 10.0 + 1.0, np.array([0.0, 10.0, 3.0]))[0]
    assert narrow == pytest.approx(wide, rel=1e-12)


# ---- the stop in particular --------------------------------------------------------------------------------

SERVO = {  # k, c, target, target velocity, f, start, h, I, v̂, w
    "plain": (3.0, 0.5, 0.4, 0.2, 6.0, 0.1, 0.3, 1.0, np.inf, 0.0),
    "slow": (3.0, 0.5, 5.0, 0.2, 6.0, 0.1, 0.3, 1.0, 0.7, 20.0),
    "slow and weak": (3.0, 0.5, -5.0, 0.2, 2.0, 0.1, 0.3, 1.0, 0.7, 20.0),
    "soft brake": (3.0, 0.5, 5.0, 0.2, 60.0, 0.1, 0.3, 1.0, 0.7, 0.1),
}


@pytest.mark.parametrize("case", SERVO)
def test_a_servo_is_held_to_its_speed_and_then_to_its_effort(case):
    k, c, target, speed, f, start, h, _, fastest, brake = p = np.array(SERVO[case])
    gain = c + h * k
    w = brake if brake > 2 * gain else gain
    for x in np.linspace(-3, 3, 61) + 1e-3:  # off the kinks
        rate = (x - start) / h
        effort = k * (target - x) + c * (speed - rate)
        if np.isfinite(fastest):
            effort = np.clip(effort, w * (-fastest - rate), w * (fastest - rate))
        effort = np.clip(effort, -f, f)
        _, slope, bend = phi(LAWS["servo"], x, p)
        assert slope == pytest.approx(-h * h * effort, rel=1e-12, abs=1e-14)
        ahead, behind = (phi(LAWS["servo"], x + s * STEP, p) for s in (1, -1))
        assert (ahead[0] - behind[0]) / (2 * STEP) == pytest.approx(slope, abs=1e-7)
        assert (ahead[1] - behind[1]) / (2 * STEP) == pytest.approx(bend, abs=1e-7)


@pytest.mark.parametrize("case", SERVO)
def test_the_parabola_that_newton_takes_for_a_servo_at_its_strongest_is_nowhere_below_it(case):
    p = np.array(SERVO[case])
    grid = np.linspace(-3, 3, 301)
    energy = np.array([phi(LAWS["servo"], x, p)[0] for x in grid])
    told = 0
    for x in grid:
        d = np.zeros(3)
        value = LAWS["servo"].function(x, p, d)
        if d[2] > 0.0:
            told += 1
            above = value + d[0] * (grid - x) + 0.5 * d[2] * (grid - x) ** 2 - energy
            assert above.min() > -1e-12
    assert (told > 0) == (case != "soft brake")


STOP = np.array([-0.5, 1.5, np.inf, 3.0])


def test_a_stop_is_silent_inside_and_infinite_on_its_bounds_and_beyond():
    for x in (-0.4998, 0.0, 1.4998):
        assert phi(LAWS["stop"], x, STOP) == (0.0, 0.0, 0.0)
    for x in (-0.5, -0.6, 1.5, 100.0):
        assert phi(LAWS["stop"], x, STOP)[0] == np.inf
    assert phi(LAWS["stop"], 7.0, np.array([-0.5, 1.5, 2.0, 3.0])) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("share", [1e-9, 1e-3, 0.1, 0.5, 0.9])
def test_a_stop_is_the_barrier_of_its_gap(share):
    """φ = −κ(g − ĝ)² ln(g/ĝ) at both ends, with derivatives by differences relative to the gap."""
    margin, kappa = 1e-4, 3.0

    def barrier(y):
        return -kappa * margin**2 * (y - 1) ** 2 * np.log(y)

    y, d = share, 1e-4 * min(share, 1 - share)
    slope = (barrier(y + d) - barrier(y - d)) / (2 * d * margin)
    curvature = (barrier(y + d) - 2 * barrier(y) + barrier(y - d)) / (d * margin) ** 2
    for x, sign in ((STOP[0] + share * margin, 1), (STOP[1] - share * margin, -1)):
        value, first, second = phi(LAWS["stop"], x, STOP)
        # x of order 1 holds a gap of 1e-13 to 1e-3 relative; differences of second order with a relative step of 1e-4
        tolerance = 1e-5 + 1e-15 / (share * margin)
        assert value == pytest.approx(barrier(y), rel=tolerance)
        assert first == pytest.approx(sign * slope, rel=2 * tolerance)
        assert second == pytest.approx(curvature, rel=1e-3 + 2 * tolerance)


# ---- compiled batches ---------------------------------------------------------------------------------------


def random_batch(rows, count=5, seed=3):
    """Stencils over four bodies with random weights, and random states."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, count)
    right = (left + rng.integers(1, 4, count)) % 4
    stencils = Stencils(left, right, rng.normal(size=(count, rows, 8)), np.arange(count))
    Q = rng.normal(size=(4, 4, 3))
    return stencils, Q, [(W @ np.vstack([Q[i], Q[j]])).ravel() for W, i, j in zip(stencils.W, left, right, strict=True)]


@energies
def test_a_compiled_batch_of_energies_sums_the_plain_functions(function):
    stencils, Q, F = random_batch(function.rows)
    p = np.random.default_rng(5).uniform(0.5, 2, (len(F), len(function.parameters)))
    terms = Terms(function, stencils, p)
    expected = sum(psi(function, F_k, p_k)[0] for F_k, p_k in zip(F, p, strict=True))
    assert terms.energy(Q) == pytest.approx(expected, rel=1e-12)


@energies
@pytest.mark.parametrize("exact", [False, True])
def test_a_compiled_batch_pulls_derivatives_back_to_the_bodies(function, exact):
    stencils, Q, F = random_batch(function.rows)
    p = np.random.default_rng(5).uniform(0.5, 2, (len(F), len(function.parameters)))
    terms = Terms(function, stencils, p)
    blocks = Blocks(np.zeros(4, np.int64), terms.pairs())
    terms.add_constant(blocks)
    terms.assemble(Q, exact, blocks)
    expected_g, expected_H = np.zeros((4, 4, 3)), np.zeros((4, 4, 3, 4, 4, 3))
    for W, i, j, F_k, p_k in zip(stencils.W, stencils.left, stencils.right, F, p, strict=True):
        _, g, H = psi(function, F_k, p_k, float(exact))
        G = (W.T @ g.reshape(-1, 3)).reshape(2, 4, 3)
        full = np.einsum("ru,rasb,sv->uavb", W, H.reshape(function.rows, 3, function.rows, 3), W)
        full = full.reshape(2, 4, 3, 2, 4, 3)
        for s, body in enumerate((i, j)):
            expected_g[body] += G[s]
            for t, other in enumerate((i, j)):
                expected_H[body, :, :, other] += full[s, :, :, t]
    g, H = gradient(blocks).ravel(), hessian(blocks)
    assert np.abs(g - expected_g.reshape(-1)).max() <= 1e-12 * np.abs(expected_g).max()
    assert np.abs(H - expected_H.reshape(48, 48)).max() <= 1e-12 * np.abs(expected_H).max()


@over(COORDINATES, "coordinate")
@laws
def test_a_law_acts_on_the_chosen_coordinates_only(coordinate, function):
    stencils, Q, F = random_batch(coordinate.rows)
    chosen = np.array([3, 0])
    p = np.sort(np.random.default_rng(7).uniform(0.5, 2, (2, len(function.parameters))), axis=1)
    if function.name == "stop":
        p[:, :3] = -20.0, 20.0, np.inf
    x = np.array([x_of(coordinate, F[k])[0] for k in chosen])
    if coordinate.period:
        x -= coordinate.period * np.round(x / coordinate.period)  # nearest to the committed value, 0
    expected = sum(phi(function, x_k, p_k)[0] for x_k, p_k in zip(x, p, strict=True))
    found = np.zeros(1)
    law_energies(
        Laws(Coordinates([(coordinate, stencils)]), [LawBatch(function, chosen, p)]), Q, np.zeros(4, int), found
    )
    assert found[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("exact", [False, True])
def test_laws_on_several_kinds_of_coordinates_pull_their_derivatives_back_to_the_bodies(exact):
    """All coordinates in one table, some with two laws and some with none: g = φ′∇x, H = φ″∇x∇xᵀ + φ′∇²x."""
    kinds = sorted(
        (f for f in COORDINATES.values() if f.function.__module__.startswith("dovetail.")), key=lambda f: f.name
    )
    sets = [random_batch(kind.rows, seed=11 + k) for k, kind in enumerate(kinds)]
    Q = sets[0][1]
    table = Coordinates([(kind, stencils) for kind, (stencils, _, _) in zip(kinds, sets, strict=True)])
    rng = np.random.default_rng(9)
    batches = []
    for function in (LAWS["spring"], LAWS["limit"]):
        of = rng.permutation(table.count)[: table.count // 2 + 2]
        batches.append(
            LawBatch(function, of, np.sort(rng.uniform(0.5, 2, (len(of), len(function.parameters))), axis=1))
        )
    blocks = Blocks(np.zeros(4, np.int64), table.pairs)
    table.locate(blocks)
    all_laws = Laws(table, batches)
    assemble_laws(all_laws, exact, Q, blocks.g, blocks.D, blocks.U)
    expected_g, expected_H, expected_E = np.zeros((4, 4, 3)), np.zeros((4, 4, 3, 4, 4, 3)), 0.0
    flat = [
        (kind, stencils, k) for kind, (stencils, _, _) in zip(kinds, sets, strict=True) for k in range(stencils.count)
    ]
    for batch in batches:
        for number, p in zip(batch.of, batch.p, strict=True):
            kind, stencils, k = flat[number]
            W, bodies = stencils.W[k], (stencils.left[k], stencils.right[k])
            x, dx, d2x = x_of(kind, (W @ np.vstack([Q[b] for b in bodies])).ravel())
            if kind.period:
                x -= kind.period * np.round(x / kind.period)
            value, first, second = phi(batch.law, x, p)
            expected_E += value
            H = second * np.outer(dx, dx) + (first * d2x if exact else 0.0)
            G = first * (W.T @ dx.reshape(-1, 3)).reshape(2, 4, 3)
            full = np.einsum("ru,rasb,sv->uavb", W, H.reshape(kind.rows, 3, kind.rows, 3), W).reshape(2, 4, 3, 2, 4, 3)
            for s, body in enumerate(bodies):
                expected_g[body] += G[s]
                for t, other in enumerate(bodies):
                    expected_H[body, :, :, other] += full[s, :, :, t]
    E = np.zeros(1)
    law_energies(all_laws, Q, np.zeros(4, int), E)
    # sums of some ten terms, each with round-off of 1e-15
    assert E[0] == pytest.approx(expected_E, rel=1e-12)
    assert np.abs(gradient(blocks).ravel() - expected_g.ravel()).max() <= 1e-12 * np.abs(expected_g).max()
    assert np.abs(hessian(blocks) - expected_H.reshape(48, 48)).max() <= 1e-12 * np.abs(expected_H).max()
