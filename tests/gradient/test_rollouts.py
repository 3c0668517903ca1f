"""Gradients of longer rollouts, through loops, couplings, hard limits and soft transforms; what a tape leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_check import TIGHT_TAPE, Problem
from joint_scenes import Bench, pose
from mechanisms import bricard, slider_crank

from dovetail.constitution import (
    AffineBodyExternalBodyForce,
    AffineBodyJointCoupling,
    AffineBodyJointDrive,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodySphericalJoint,
    SoftTransformConstraint,
)
from dovetail.errors import GradientError
from dovetail.extend import Parameter, Term, VertexJoint, energy

G = (0.0, 0.0, -9.81)
LOOSE = {"newton/velocity_tol": 1e-2, "newton/transrate_tol": 1e-1}


def close(found, expected, error=1e-6, noise=1e-9):
    """Within the bar, and within what differences of a loss of about 10 tell."""
    return abs(found - expected) <= error * abs(expected) + noise


def chain(method="bdf1", strength=100.0, links=4, gravity=G, **config):
    bench = Bench({"dt": 0.01, "integrator/type": method, **TIGHT_TAPE, **config}, gravity=gravity)
    at = [(0.3 * k + 0.3, 0.0, 0.0) for k in range(links)]
    base = bench.box("base", (0.1, 0.1, 0.1), fixed=True)
    boxes = [bench.box(f"link {k}", (0.3, 0.1, 0.05), p, kappa=1e7, spin=(0, 0.2, 0)) for k, p in enumerate(at)]
    points = np.array(at) - (0.15, 0, 0)
    bench.join(AffineBodySphericalJoint, [base, *boxes[:-1]], boxes, points, strength=strength)
    return bench


@pytest.mark.parametrize("method, strength", [("bdf1", 100.0), ("bdf1", np.inf), ("bdf2", 100.0), ("ctr", np.inf)])
def test_fifty_steps_of_a_chain(method, strength):
    problem = Problem(lambda gravity=0.0: chain(method, strength, gravity=np.add(G, gravity)).world, 50)
    found = problem.gradients()
    spin = np.zeros((5, 4, 3))
    spin[1:, 1:] = np.cross((0.1, 1.0, 0.3), np.eye(3))
    # a consistent start with exact joints has a noise of 1e-12 m/s, which asks for wide steps
    step, noise = (1e-2, 1e-6) if method == "ctr" else (1e-4, 1e-9)
    assert close(np.nansum(found.V * spin), problem.slope(step, dV=spin), noise=noise)
    assert close(
        found.gravity @ (1, 2, 3), problem.slope(max(step, 1e-3), gravity=np.array([1.0, 2.0, 3.0])), noise=noise
    )


@pytest.mark.parametrize("make", [slider_crank, bricard])
@pytest.mark.parametrize("method, gamma", [("bdf1", np.inf), ("ctr", np.inf), ("bdf1", 1e3)])
def test_loops(make, method, gamma):
    problem = Problem(lambda kappa=0.0: make(0.01, method, 1e8 * np.exp(kappa), gamma, **TIGHT_TAPE)[0].world, 10)
    found, n = problem.gradients(), len(problem.by_Q[0])
    along = np.random.default_rng(2).normal(size=(n, 4, 3))
    along[problem.world._simulation.model.bodies.is_free == 0] = 0.0
    assert close(np.nansum(found.V * along), problem.slope(1e-2, dV=along))
    assert close(found.log_kappa.sum(), problem.slope(0.1, kappa=1.0))


def gear(strength, method="bdf1", density=0.0):
    bench = Bench({"dt": 0.01, "integrator/type": method, **TIGHT_TAPE}, gravity=(0, -3.0, 0))
    base = bench.box("base", fixed=True)
    body = {"size": (0.2, 0.4, 0.1), "kappa": 1e7, "density": 100.0 * np.exp(density)}
    first, second = bench.box("first", at=(0.1, 0, 0), **body), bench.box("second", at=(1.0, 0.1, 0), **body)
    ends = [(0, 0, -0.1), (1, 0, -0.1)], [(0, 0, 0.1), (1, 0, 0.1)]
    leader, follower = (
        bench.join(AffineBodyRevoluteJoint, [base], [b], ends[0][k], ends[1][k], strength=np.inf, name=f"hinge {k}")
        for k, b in enumerate((first, second))
    )
    make = AffineBodyJointCoupling().create_geometry([leader.slot], [follower.slot], -1.5, 0.02, strength)
    bench.scene.objects.create("gear").geometries.create(make)
    return bench.world


@pytest.mark.parametrize("strength, method", [(0.2, "bdf1"), (np.inf, "bdf1"), (np.inf, "ctr")])
def test_couplings(strength, method):
    problem = Problem(lambda **changes: gear(strength, method, **changes), 5)
    found = problem.gradients()
    slot = next(slot for slot, _ in problem.world.scene.geometries if slot.object_name == "gear")
    attributes, way = slot.geometry["coupling"], np.array([0.3, -1.0, 0.5, 0.2, 0.7])
    for name in ("ratio", "offset", "strength_ratio")[: 2 if np.isinf(strength) else 3]:
        base = attributes[name].copy()

        def control(s, name=name, base=base):
            return lambda k: attributes.slot(name).edit().__setitem__(0, base[0] + s * way[k])

        assert close(found["gear", name][:, 0] @ way, problem.slope(1e-4, control=control)), name
        attributes[name] = base
    assert close(found.log_density[1:].sum(), problem.slope(1e-2, density=1.0))


@pytest.mark.parametrize("method, gamma", [("bdf1", 1e3), ("bdf1", np.inf)])
def test_a_hard_limit(method, gamma):
    def build():
        bench = Bench({"dt": 0.01, "integrator/type": method, **TIGHT_TAPE}, gravity=G)
        base = bench.box("base", (0.1, 0.1, 0.1), fixed=True)
        arm = bench.box("arm", (0.5, 0.1, 0.1), (0.3, 0, 0), kappa=1e7, spin=(0, 2, 0))
        limit = [lambda sc: AffineBodyRevoluteJointLimit().apply_to(sc, -0.3, 0.05, np.inf)]
        ends = (0.05, -0.1, 0), (0.05, 0.1, 0)
        bench.join(AffineBodyRevoluteJoint, [base], [arm], *ends, strength=gamma, extras=limit, name="hinge")
        return bench.world

    problem = Problem(build, 8)
    found, spin = problem.gradients(), np.zeros((2, 4, 3))
    assert np.abs(found["hinge", "limit/upper"]).sum() > 1.0  # it is reached
    spin[1, 1:] = np.cross((0.0, 1.0, 0.0), np.eye(3))
    assert close(np.nansum(found.V * spin), problem.slope(1e-5, dV=spin))
    assert np.isnan(found.log_density[1])  # its strength is the inertia of the joint


def test_forces_and_soft_transforms():
    def drawn(rate=0.0):
        bench = Bench({"dt": 0.01, "integrator/type": "bdf1", **TIGHT_TAPE}, gravity=G)
        box = bench.box("box", (0.3, 0.2, 0.1), density=500.0, kappa=1e7)
        SoftTransformConstraint().apply_to(box.geometry, (3.0, 2.0))
        AffineBodyExternalBodyForce().apply_to(box.geometry, np.zeros(12))
        box.geometry.instances["external_force/is_constrained"] = 1
        box.geometry.instances["is_constrained"] = 1
        box.geometry.instances["aim_transform"] = pose((0.01, 0.02, 0.0))[None]
        return bench.world

    problem = Problem(drawn, 4)
    found = problem.gradients()
    instances = next(slot for slot, _ in problem.world.scene.geometries).geometry.instances
    way = np.random.default_rng(3).normal(size=(4, 3))

    def push(s):
        return lambda k: instances.slot("external_force").edit()[0].__setitem__(slice(0, 3), s * way[k])

    def aim(s):
        return lambda k: (
            instances.slot("aim_transform").edit()[0].__setitem__((slice(0, 3), 3), (0.01, 0.02, 0) + s * way[k])
        )

    force = problem.slope(1.0, control=push)
    push(0.0)(0)
    assert close((found.forces[:, 0, 0] * way).sum(), force)
    assert close((found.aims[:, 0, 0] * way).sum(), problem.slope(1e-3, control=aim))


@pytest.mark.parametrize("method", ["bdf1", "ctr"])
def test_shapes_of_both_kinds(method):
    """Soft bodies that spin, one of each potential, joined by a ball."""

    def build(kappa=(0.0, 0.0), density=(0.0, 0.0)):
        bench, bodies = Bench({"dt": 0.01, "integrator/type": method, **TIGHT_TAPE}, gravity=G), []
        for k, potential in enumerate(("OrthoPotential", "ARAP")):
            given = {"kappa": 1e5 * np.exp(kappa[k]), "density": 500.0 * np.exp(density[k]), "potential": potential}
            bodies.append(bench.box(f"box {k}", (0.3, 0.2, 0.1), (0.4 * k, 0, 0), spin=(1.0, 2.0 - k, 0.5), **given))
        bench.join(AffineBodySphericalJoint, bodies[:1], bodies[1:], [(0.2, 0, 0)], strength=100.0)
        return bench.world

    problem = Problem(build, 6)
    found, along = problem.gradients(), np.random.default_rng(0).normal(size=(2, 4, 3))
    assert close((found.V * along).sum(), problem.slope(1e-3, dV=along))
    assert close((found.Q * along).sum(), problem.slope(1e-4, dQ=along))
    for k, one in enumerate(np.eye(2)):
        assert close(found.log_kappa[k], problem.slope(1e-2, kappa=one))
        assert close(found.log_density[k], problem.slope(1e-2, density=one))


class _Cubic(Term):
    function = "gradient_test_cubic"
    stencil = (("c", -1, 1),)
    parameters = (Parameter("stiffness"), Parameter("strength_ratio", times_mass=True))


class _Band(VertexJoint, uid=2**32 + 7301):
    """A band between two anchors that stiffens: ψ = K/2 |r|² + k/4 |r|⁴."""

    terms = (_Cubic(),)
    attributes = {"stiffness": 0.0}  # noqa: RUF012


@energy(rows=1, parameters=("k", "K"))
def gradient_test_cubic(F, p, exact, g, H):
    square = F[0] * F[0] + F[1] * F[1] + F[2] * F[2]
    for a in range(3):
        g[a] = (p[1] + p[0] * square) * F[a]
        H[3 * a + a] = p[1] + p[0] * square
        for b in range(3):
            H[3 * a + b] += 2.0 * p[0] * F[a] * F[b]
    return 0.5 * p[1] * square + 0.25 * p[0] * square * square


def test_energies_of_users():
    def build(density=0.0, at=0.0):
        bench = Bench({"dt": 0.01, "integrator/type": "bdf1", **TIGHT_TAPE}, gravity=G)
        wall = bench.box("wall", fixed=True)
        box = bench.box("box", (0.2, 0.2, 0.1), (0.5, 0, 0), density=100.0 * np.exp(density), kappa=1e6)
        band = _Band().create_geometry([(0.45 + at, 0.02, 0.0)], [wall], [0], [box], [0], [0.01])
        band.vertices["stiffness"] = 3.0
        bench.put("band", band)
        return bench.world

    problem = Problem(build, 8)
    found, spin = problem.gradients(), np.zeros((2, 4, 3))
    spin[1] = np.random.default_rng(0).normal(size=(4, 3))
    assert close(np.nansum(found.V * spin), problem.slope(1e-3, dV=spin))
    slot = next(slot for slot, _ in problem.world.scene.geometries if slot.object_name == "band")
    stiffness, way = slot.geometry.vertices.slot("stiffness"), np.arange(8.0)

    def control(s):
        return lambda k: stiffness.edit().__setitem__(0, 3.0 + s * way[k])

    assert close(found["band", "stiffness"][:, 0] @ way, problem.slope(1e-3, control=control))
    stiffness.edit()[0] = 3.0
    assert close(found.log_density[1], problem.slope(1e-3, density=1.0))
    assert close(found.design(lambda p: build(at=p), 0.0), problem.slope(1e-4, at=1.0))
    with pytest.raises(GradientError, match="ctr with energies of users \\('gradient_test_cubic'\\)"):
        bench = Bench({"integrator/type": "ctr"})
        wall, box = bench.box("wall", fixed=True), bench.box("box", at=(1.0, 0, 0))
        bench.put("band", _Band().create_geometry([(0.5, 0.0, 0.0)], [wall], [0], [box], [0], [1.0]))
        bench.world.rollout(1)


@pytest.mark.parametrize("method, strength", [("bdf1", np.inf), ("ctr", np.inf), ("ctr", 100.0), ("bdf2", 100.0)])
@pytest.mark.parametrize("goes_back", [False, True])
def test_a_tape_leaves_the_world_as_it_was(method, strength, goes_back):
    """What follows a rollout, and its gradients, is what follows its last state in another world."""
    first, second = chain(method, strength), chain(method, strength)
    tape = first.world.rollout(4)
    if goes_back:
        tape.backward(np.ones_like(tape.Q[0]))
    second.world.restore(first.world.state())
    for bench in (first, second):
        bench.run(5)
    states = [bench.world._simulation.state for bench in (first, second)]
    assert np.array_equal(states[0].Q, states[1].Q) and np.array_equal(states[0].V, states[1].V)


@pytest.mark.parametrize("method, strength", [("bdf1", 100.0), ("ctr", np.inf)])
def test_steps_that_are_not_recorded_are_what_they_are_without_tapes(method, strength):
    """Tolerances, sweeps and blocks of recorded steps are gone with them, bit for bit."""
    recorded, plain = chain(method, strength, **LOOSE), chain(method, strength, **LOOSE)
    start = recorded.world.state()
    tape = recorded.world.rollout(5, every=2)
    tape.backward(np.ones_like(tape.Q[0]))
    recorded.world.restore(start)
    for bench in (recorded, plain):
        bench.run(5)
    found, expected = (bench.world._simulation.state for bench in (recorded, plain))
    assert np.array_equal(found.Q, expected.Q) and np.array_equal(found.V, expected.V)
    assert not np.array_equal(found.Q, tape.Q[-1])  # which was computed more accurately


@pytest.mark.parametrize("build", [lambda: chain("bdf1", 100.0), lambda: chain("bdf2", np.inf)])
def test_recording_changes_no_bit_of_a_step(build):
    """With the tolerances that a tape asks for; ctr alone takes another way to its starts, by blocks."""
    recorded, plain = build(), build()
    tape = recorded.world.rollout(5)
    plain.run(5)
    expected = plain.world._simulation.state
    assert np.array_equal(tape.Q[-1], expected.Q) and np.array_equal(tape.V[-1], expected.V)


def test_a_loss_of_the_end_alone_is_one_of_all_states():
    tape = chain().world.rollout(3)
    by_end = np.random.default_rng(0).normal(size=(5, 4, 3))
    by_all = np.zeros((4, 5, 4, 3))
    by_all[-1] = by_end
    assert np.array_equal(tape.backward(by_end).V, tape.backward(by_all).V, equal_nan=True)


def test_a_loss_of_transforms_is_one_of_states():
    tape, by = chain().world.rollout(3), np.random.default_rng(0).normal(size=(4, 4, 4))
    T = tape.transform("link 2")
    assert np.array_equal(T[:, :3, 3], tape.Q[:, 3, 0]) and np.array_equal(T[:, :3, 1], tape.Q[:, 3, 2])
    by_Q = np.zeros((4, 5, 4, 3))
    by_Q[:, 3, 0], by_Q[:, 3, 1:] = by[:, :3, 3], by[:, :3, :3].swapaxes(1, 2)
    found, expected = tape.backward(dL_dT={"link 2": by}), tape.backward(by_Q)
    assert np.array_equal(found.V, expected.V, equal_nan=True)


@pytest.mark.parametrize("method", ["bdf1", "ctr"])
def test_jacobians_of_a_step(method):
    """A of two links: products with a change of the state are differences of the state one step later."""
    world = chain(method, links=2).world
    tape = world.rollout(2)
    A, B = tape.step_jacobians(0)
    rng = np.random.default_rng(0)
    dQ, dV = np.zeros((2, 3, 4, 3))
    dQ[1:], dV[1:] = rng.normal(size=(2, 2, 4, 3))

    def end(s):
        world = chain(method, links=2).world
        state = world._simulation.state
        world._simulation.write_state("test", np.arange(3), state.Q + 1e-3 * s * dQ, state.V + s * dV)
        tape = world.rollout(1)
        return np.concatenate([tape.Q[-1, 1:].ravel(), tape.V[-1, 1:].ravel()])

    wide, narrow = ((end(h) - end(-h)) / (2 * h) for h in (2e-3, 1e-3))
    found = A @ np.concatenate([1e-3 * dQ[1:].ravel(), dV[1:].ravel()])
    assert np.allclose(found, (4 * narrow - wide) / 3, rtol=1e-6, atol=1e-8 * np.abs(found).max())
    forward = np.concatenate([each[1:].ravel() for each in tape.step_jvp(0, 1e-3 * dQ, dV)])
    # the start of ctr is differentiated by differences, which see 1e-13 of its round-off over steps of 1e-5
    assert np.allclose(forward, found, rtol=1e-7, atol=1e-8 * np.abs(found).max())
    assert np.allclose(np.stack(tape.step_jvp(0, dF=dQ))[:, 1:].ravel(), B @ dQ[1:].ravel(), rtol=1e-6, atol=1e-9)
    by_end = rng.normal(size=(2, 3, 4, 3))
    back = tape.step_vjp(0, *by_end)
    assert np.allclose(by_end[:, 1:].ravel() @ A, np.concatenate([back.Q[1:].ravel(), back.V[1:].ravel()]))
    assert np.allclose(by_end[:, 1:].ravel() @ B, back.forces[0, 1:].ravel())


@pytest.mark.parametrize("method", ["bdf2", "ctr"])
def test_checkpoints_call_controls_again_and_leave_attributes_alone(method):
    """A hinge whose target moves on in every third step: what is set once stays until it is set again."""

    def record(every):
        bench = Bench({"dt": 0.01, "integrator/type": method, **TIGHT_TAPE}, gravity=G)
        base, arm = bench.box("base", fixed=True), bench.box("arm", (0.5, 0.1, 0.1), (0.3, 0, 0), kappa=1e7)
        drive = [lambda sc: AffineBodyJointDrive().apply_to(sc, 50.0, 3.0, 1e3)]
        ends = (0.05, -0.1, 0), (0.05, 0.1, 0)
        bench.join(AffineBodyRevoluteJoint, [base], [arm], *ends, strength=np.inf, extras=drive, name="hinge")
        world = bench.world
        edges = next(slot for slot, _ in world.scene.geometries if slot.object_name == "hinge").geometry.edges

        def controls(k):
            if k % 3 == 0:
                edges["drive/target"] = 0.1 * k

        return world.rollout(10, controls, every=every), edges

    (whole, _), (parts, edges) = record(0), record(4)
    assert np.array_equal(whole.Q, parts.Q)
    by_Q = np.random.default_rng(0).normal(size=whole.Q.shape)
    found = [tape.backward(by_Q) for tape in (whole, parts)]
    for name in ("drive/target", "drive/damping"):
        assert np.array_equal(found[0]["hinge", name], found[1]["hinge", name])
    assert np.array_equal(found[0].log_density, found[1].log_density)
    assert np.array_equal(whole.step_jacobians(2)[0], parts.step_jacobians(2)[0])
    assert edges["drive/target"][0] == 0.9  # as the last step has left it


def test_what_is_not_differentiable_is_refused_by_name():
    with pytest.raises(GradientError, match="semi_implicit"):
        chain(**{"newton/semi_implicit/enable": 1}).world.rollout(1)
    bench = chain("bdf2")
    with pytest.raises(GradientError, match="step 2 has another dt than the step before it, under bdf2"):
        bench.world.rollout(4, lambda k: bench.scene.config.__setitem__("dt", 0.01 if k < 2 else 0.005))
    tape = chain().world.rollout(2)
    with pytest.raises(GradientError, match=r"dL_dQ has the shape \(3,\); give \(3, 5, 4, 3\) or \(5, 4, 3\)"):
        tape.backward(np.zeros(3))
    with pytest.raises(GradientError, match="'joint' has no gradient by 'angle'; it has 'strength_ratio'"):
        tape.backward()["joint", "angle"]
    bench = chain()
    world = bench.world

    def move(k):
        world._simulation.write_state("test", np.array([1]), None, np.zeros((1, 4, 3)))

    with pytest.raises(GradientError, match="before step 0 the state was written to"):
        world.rollout(2, move)
