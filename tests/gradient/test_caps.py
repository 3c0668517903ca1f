"""Gradients through drives that come to their caps and leave them, within steps that begin below them under ctr."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradient_check import TIGHT_TAPE, Problem
from joint_scenes import Bench

from dovetail.constitution import AffineBodyJointDamper, AffineBodyJointDrive, AffineBodyRevoluteJoint

STEPS = 12
CAP = 6.0
# of a loss of about 10, whose efforts are known to 1e-8 of the cap (caps.py), in differences with steps of 1e-4
NOISE = 1e-7


def build(method: str, strength: float, damper: float = 0.0) -> Any:
    """An arm that is turned to its target and passes it: its drive is at its cap, below, at the other cap, below."""
    bench = Bench({"dt": 0.01, "integrator/type": method, **TIGHT_TAPE}, gravity=(0, 0, -9.81))
    base = bench.box("base", fixed=True)
    arm = bench.box("arm", (0.5, 0.1, 0.1), (0.3, 0, 0), density=200.0, kappa=1e7, spin=(0.0, 3.0, 0.0))

    def drive(sc: Any) -> None:
        AffineBodyJointDrive().apply_to(sc, 150.0, 3.0, CAP)
        sc.edges["drive/target"] = 0.12

    def damped(sc: Any) -> None:
        AffineBodyJointDamper().apply_to(sc, damper)

    extras = [drive, damped] if damper else [drive]
    ends = (0.05, -0.1, 0), (0.05, 0.1, 0)
    bench.join(AffineBodyRevoluteJoint, [base], [arm], *ends, strength=strength, extras=extras, name="joint")
    return bench.world


def drives(world: Any) -> Any:
    slot = next(slot for slot, _ in world.scene.geometries if slot.object_name == "joint")
    return slot.geometry.edges


def passages(world: Any) -> tuple[int, int]:
    """In how many steps the drive was at its cap, and in how many of these only at the end."""
    at_cap = late = 0
    start = world.state()
    for _ in range(STEPS):
        world.advance()
        world.retrieve()
        laws = world._simulation.model.potential.laws
        at_end = abs(drives(world)["drive/effort"][0]) > CAP * (1.0 - 1e-9)
        begins_below = laws.p[laws.exerted[laws.capped[0]] + 1] == 2.0  # σ
        at_cap, late = at_cap + at_end, late + (at_end and begins_below)
    world.restore(start)
    return at_cap, late


CASES = [("ctr", np.inf, 0.0), ("ctr", 100.0, 0.0), ("ctr", np.inf, 0.5), ("bdf1", np.inf, 0.0)]


@pytest.mark.parametrize(("method", "strength", "damper"), CASES)
def test_gradients_through_caps_are_those_of_the_program(method, strength, damper):
    problem = Problem(lambda: build(method, strength, damper), STEPS)
    at_cap, late = passages(problem.world)
    assert 2 <= at_cap <= STEPS - 2 and (late > 0) == (method == "ctr")
    found, attributes = problem.gradients(), drives(problem.world)
    rng = np.random.default_rng(3)
    for name in ("drive/stiffness", "drive/damping", "drive/target", "drive/max_effort", "drive/target_velocity"):
        base = attributes[name].copy()
        way = rng.uniform(0.5, 1.0, STEPS) * max(abs(float(base[0])), 0.1)

        def control(s: float, name: str = name, base: Any = base, way: Any = way) -> Any:
            return lambda k: attributes.slot(name).edit().__setitem__(0, base[0] + s * way[k])

        expected = problem.slope(1e-4, control=control)
        attributes[name] = base
        assert found["joint", name][:, 0] @ way == pytest.approx(expected, rel=2e-6, abs=NOISE), name
        assert expected != 0.0
    along = 0.1 * rng.normal(size=problem.by_Q.shape[1:])
    along[~np.isfinite(found.V)] = 0.0
    expected = problem.slope(1e-4, dV=along)
    assert np.nansum(found.V * along) == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("strength", [np.inf, 100.0])
def test_steps_through_caps_go_forwards_as_they_go_back(strength):
    """ȳ·(J x) = (Jᵀȳ)·x of single steps, some of which begin below the cap and end at it."""
    problem = Problem(lambda: build("ctr", strength), STEPS)
    assert passages(problem.world)[1] > 0
    tape, rng = problem.tape(), np.random.default_rng(4)
    for k in range(STEPS):
        dQ, dV = rng.normal(size=(2, *problem.by_Q.shape[1:]))
        y = rng.normal(size=(2, *dQ.shape))
        ahead, back = tape.step_jvp(k, 1e-3 * dQ, dV), tape.step_vjp(k, *y)
        found = np.nansum(back.Q * 1e-3 * dQ) + np.nansum(back.V * dV)
        assert found == pytest.approx(sum((a * b).sum() for a, b in zip(y, ahead, strict=True)), rel=1e-6), k
