"""All that there are gradients by is compared with differences somewhere; what is compared nowhere else, here."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
from gradient_check import TIGHT_TAPE, Problem
from joint_scenes import Bench

from dovetail.constitution import AffineBodyJointDrive, AffineBodyRevoluteJoint, AffineBodySphericalJoint
from dovetail.solver import energy
from dovetail.solver.contribution import Contribution
from dovetail.solver.joint.function import ENERGIES

ENERGY_CHECKS = {
    "kinetic": "test_fifty_steps_of_a_chain",
    "ortho": "test_shapes_of_both_kinds",
    "arap": "test_shapes_of_both_kinds",
    "soft_transform": "test_forces_and_soft_transforms",
}
"""Energies with the tests that have them; test_joints.py has the same of coordinates, laws and loads."""
CONTRIBUTIONS = {"SoftTransforms", "Terms", "Articulations"}
"""Of these users' terms are in test_rollouts.py, soft couplings too; what another model moves is refused."""
TOLD = {"residual"}  # no gradient
SOURCE = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))


def chain(method):
    """Two links that swing."""
    bench = Bench({"dt": 0.01, "integrator/type": method, **TIGHT_TAPE}, gravity=(0, 0, -9.81))
    base = bench.box("base", (0.1, 0.1, 0.1), fixed=True)
    at = [(0.3, 0.0, 0.0), (0.6, 0.0, 0.0)]
    links = [bench.box(f"link {k}", (0.3, 0.1, 0.05), p, kappa=1e7, spin=(0, 0.2, 0)) for k, p in enumerate(at)]
    bench.join(AffineBodySphericalJoint, [base, links[0]], links, np.array(at) - (0.15, 0, 0), strength=100.0)
    return bench.world


def test_every_energy_is_compared_with_differences():
    assert {module.name for module in pkgutil.iter_modules(energy.__path__)} == ENERGY_CHECKS.keys()
    assert all(f"def {name}(" in SOURCE for name in ENERGY_CHECKS.values())
    ours = {name for name, made in ENERGIES.items() if made.function.__module__.startswith("dovetail.")}
    assert not ours  # all energies between bodies are of users
    known = {each.__name__ for each in Contribution.__subclasses__() if each.__module__.startswith("dovetail.")}
    assert known == CONTRIBUTIONS


def test_every_gradient_has_a_name_that_a_test_reads():
    found = chain("bdf1").rollout(1).backward()
    public = {name for name in vars(found) if not name.startswith("_")} - TOLD
    public |= {name for name in vars(type(found)) if not name.startswith("_")} - {"names"}
    unread = {name for name in public if not re.search(rf"\bfound\.{name}\b", SOURCE)}
    assert not unread and {"log_density", "initial", "design"} <= public


def test_moments_in_the_kinetic_term():
    by = np.random.default_rng(0).normal(size=(4, 4))

    def build(s=0.0):
        bench = Bench({"dt": 0.01, "integrator/type": "bdf1", **TIGHT_TAPE}, gravity=(0, 0, -9.81))
        bench.box("soft", (0.3, 0.2, 0.1), kappa=1e4, spin=(3.0, 2.0, 1.0))
        mass = bench.world._simulation.model.bodies.mass
        mass[0] += s * (by + by.T) * np.abs(mass[0, 1:, 1:]).max()
        return bench.world

    problem = Problem(build, 4)
    found, mass = problem.gradients(), problem.world._simulation.model.bodies.mass
    value = (found.mass[0] * (by + by.T)).sum() * np.abs(mass[0, 1:, 1:]).max()
    assert value == pytest.approx(problem.slope(1e-4, s=1.0), rel=1e-6)


def test_the_step_before_the_first_one():
    """bdf2 looks back to it."""
    world = chain("bdf2")
    for _ in range(3):
        world.advance()
    start, by = world.state(), np.random.default_rng(0).normal(size=(3, 4, 3))
    state, along = world._simulation.state, np.random.default_rng(1).normal(size=(2, 3, 4, 3))
    along[:, 0] = 0.0

    def loss(s):
        world.restore(start)
        state.Q_before += 1e-3 * s * along[0]
        state.V_before += s * along[1]
        return float((by * world.rollout(3).Q[-1]).sum())

    world.restore(start)
    found = world.rollout(3).backward(by)
    value = (1e-3 * found.Q_before * along[0] + found.V_before * along[1]).sum()
    wide, narrow = ((loss(h) - loss(-h)) / (2.0 * h) for h in (1e-2, 5e-3))
    assert value == pytest.approx((4.0 * narrow - wide) / 3.0, rel=1e-6) and value != 0.0


def test_a_target_before_the_first_step():
    """A stiff drive under ctr follows a target that moves, from where it was before."""

    def build(target=0.0):
        bench = Bench({"dt": 0.01, "integrator/type": "ctr", **TIGHT_TAPE}, gravity=(0, 0, -9.81))
        base, arm = bench.box("base", fixed=True), bench.box("arm", (0.5, 0.1, 0.1), (0.3, 0, 0), kappa=1e7)

        def drive(sc):
            AffineBodyJointDrive().apply_to(sc, 5000.0, 30.0, 1e5)
            sc.edges["drive/target"] = target

        ends = (0.05, -0.1, 0), (0.05, 0.1, 0)
        bench.join(AffineBodyRevoluteJoint, [base], [arm], *ends, strength=100.0, extras=[drive], name="joint")
        return bench.world

    def moves(world):
        edges = next(slot for slot, _ in world.scene.geometries if slot.object_name == "joint").geometry.edges
        return lambda k: edges.__setitem__("drive/target", 0.01 * (k + 1))

    def loss(s):
        world = build(s)
        return float((by * world.rollout(4, moves(world)).Q[-1]).sum())

    by, world = np.random.default_rng(0).normal(size=(2, 4, 3)), build()
    found = world.rollout(4, moves(world)).backward(by)
    wide, narrow = ((loss(h) - loss(-h)) / (2.0 * h) for h in (1e-3, 5e-4))
    assert found.initial("joint", "drive/target").sum() == pytest.approx((4.0 * narrow - wide) / 3.0, rel=1e-6)
    assert abs(narrow) > 1e-3
