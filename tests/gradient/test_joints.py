"""Gradients through every joint of the specification, with drives, limits, dampers, friction and loads on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradient_check import TIGHT_TAPE, Problem, relative
from joint_scenes import JOINTS, Bench, axis_angle, extras_of

from dovetail import Sim
from dovetail.constitution import (
    AffineBodyDistanceJoint,
    AffineBodyFixedJoint,
    AffineBodyJointArmature,
    AffineBodyJointDamper,
    AffineBodyJointDrive,
    AffineBodyJointFriction,
    AffineBodyJointLimit,
    AffineBodyJointSpring,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodySphericalJointResistance,
    AffineBodyUniversalJoint,
    Joint,
)
from dovetail.constitution.joint.coordinate_extra import CoordinateExtra
from dovetail.constitution.joint.extra import Drive, JointLimit
from dovetail.solver import load
from dovetail.solver.joint.function import COORDINATES, LAWS
from dovetail.solver.load import JointForces, JointTorques

STEPS, MANY = 3, 50
NOISE = 5e-10
"""Of differences of a loss of about 10 at steps of 1e-4: gradients that are tiny beside it are not measured by them.

Of springs of 1e-3 that is 5e-7 of it: against differences with steps of 1e-3, 1e-4, 1e-5 they are off by at most 2e-7,
2e-7 and 2.5e-6, the shorter the more, which is noise.
"""
P0, P1 = np.array([(0.25, -0.1, 0.02), (0.75, -0.1, 0.0)]), np.array([(0.3, 0.15, 0.05), (0.8, 0.2, 0.1)])


def mild(kind: type[Joint]) -> list[Any]:
    """All extras of a joint, with values that act but do not throw bodies about."""
    rest = np.linalg.norm(P1 - P0, axis=1) if kind is AffineBodyDistanceJoint else np.zeros(2)
    numbers: dict[type, tuple[Any, ...]] = {
        AffineBodyJointLimit: (rest - (2e-3, 3e-3), rest - (-1e-3, -2e-3), 0.02),
        AffineBodyJointDrive: (200.0, 5.0, [1.0, 1e3]),  # the cap of the first is reached
        AffineBodyJointDamper: (3.0,),
        AffineBodyJointFriction: (0.5, 0.3),
        AffineBodyJointSpring: (50.0, rest - (-0.03, 0.02)),
        AffineBodyJointArmature: ([0.3, 0.1],),
    }

    def apply(extra: type[Any], sc: Any) -> None:
        elements = kind.elements(sc)
        if issubclass(extra, CoordinateExtra):
            for word in kind.coordinates():
                extra().apply_to(sc, *numbers[extra], coordinate=word.attribute)
                if extra is AffineBodyJointDrive:
                    elements[f"{word.prefix}drive/target"] = rest - (-0.05, 0.02)
                    elements[f"{word.prefix}drive/target_velocity"] = [0.1, 0.2]
        elif extra is AffineBodySphericalJointResistance:
            for name, angle in (("l_frame", 0.0), ("r_frame", 0.5)):  # where the angle is, and bends, as it does in use
                sc.vertices.create(name, np.eye(3)).edit()[...] = axis_angle((1, 2, 3), angle)
            extra().apply_to(sc, damping=3.0, max_angle=[0.48, 0.46], strength=20.0)  # which is passed
        elif issubclass(extra, Drive):
            extra().apply_to(sc, [0.5, 0.3])
            elements["driving/is_constrained"] = 1
            elements[extra.aim] = [0.003, -0.002]
        elif issubclass(extra, JointLimit):
            extra().apply_to(sc, *numbers[AffineBodyJointLimit])
        else:
            extra().apply_to(sc, [2.0, -1.0])
            elements[f"{extra.load}/is_constrained"] = 1

    return [
        lambda sc, extra=extra: apply(extra, sc)
        for extra in extras_of(kind)
        if extra in numbers or not issubclass(extra, CoordinateExtra)
    ]


def scene(
    kind: type[Joint], method: str, strength: float, rho: float = 0.0, kappa: float = 0.0, gamma: float = 0.0
) -> Any:
    """Two boxes on a fixed one, one after the other; parameters are changes of logarithms."""
    bench = Bench(
        {"dt": 0.01, "integrator/type": method, "integrator/bdf2_start": "bdf1", **TIGHT_TAPE},
        gravity=(0.3, -0.2, -9.81),
    )
    base = bench.box("base", fixed=True)
    body = {"density": 20.0 * np.exp(rho), "kappa": 1e5 * np.exp(kappa)}
    turned = axis_angle((1, 2, 3), 0.3)
    arm = bench.box("arm", (0.5, 0.2, 0.3), (0.5, 0, 0), spin=(0.1, 0.2, -0.2), velocity=(0.0, 0.1, 0.1), **body)
    hand = bench.box("hand", (0.3, 0.2, 0.4), (1.0, 0.1, 0.05), turned, spin=(-0.2, 0.1, 0.3), **body)
    strength = strength * np.exp(gamma)
    bench.join(kind, [base, arm], [arm, hand], P0, P1, strength=strength, extras=mild(kind), name="joint")
    return bench.world


def elements(world: Any, kind: type[Joint]) -> Any:
    slot = next(slot for slot, _ in world.scene.geometries if slot.object_name == "joint")
    return kind.elements(slot.geometry)


def loose(method: str, push: float = 0.0) -> Any:
    """A D6 joint and a driven ball, one after the other."""
    sim = Sim(dt=0.01, contact=False, integrator=method, config=TIGHT_TAPE)
    arm = sim.box((0.4, 0.1, 0.1), pos=(0.2, 0, 0), spin=(1.0, 0.5, 0.3), density=100.0)
    hand = sim.box((0.3, 0.1, 0.1), pos=(0.55, 0, 0), density=100.0)
    frame = sim.d6(None, arm, (0, 0, 0), x=(-1e-3, 1e-3), rx="free", ry="driven", rz="free")
    drive = frame.coordinates["ry"].drive
    drive.stiffness, drive.damping, drive.target = 20.0, 2.0, 0.2 + push
    ball = sim.spherical(arm, hand, pos=(0.4, 0, 0), drive=(0.1, 0.2 + push, -0.1))
    ball.drive.stiffness, ball.drive.damping = 10.0, 1.0
    return sim.world


@pytest.mark.parametrize("method", ["bdf1", "ctr"])
def test_gradients_through_loose_joints_are_those_of_the_program(method):
    """By the state at the start, and by targets that both drives are built with."""
    problem = Problem(lambda **changes: loose(method, **changes), STEPS)
    found = problem.gradients()
    along = np.random.default_rng(1).normal(size=problem.by_Q.shape[1:])
    along[~np.isfinite(found.V)] = 0.0
    expected = problem.slope(1e-3, dV=along)  # a step far above the noise of 1e-12 m/s that exact joints have under ctr
    assert abs(np.nansum(found.V * along) - expected) <= 1e-6 * abs(expected) + NOISE
    by_push = found.design(lambda p: loose(method, p[0]), [0.0])[0]
    expected = problem.slope(1e-4, push=1.0)
    assert abs(by_push - expected) <= 1e-6 * abs(expected) + NOISE and expected != 0.0


def test_every_coordinate_law_and_load_is_among_these_scenes():
    """But for hard limits, which test_rollouts.py runs into. A new one is to be added to `mild`."""
    lowered = [scene(kind, "bdf1", 100.0)._simulation.joints.lowered for kind in JOINTS.values()]
    lowered.append(loose("bdf1")._simulation.joints.lowered)
    ours = [
        {name for name, made in registry.items() if made.function.__module__.startswith("dovetail.solver")}
        for registry in (COORDINATES, LAWS)
    ]
    met = {name for name in ours[0] for each in lowered if COORDINATES[name].address in each.coordinates.address}
    assert met == ours[0]
    laws = {batch.law.name for each in lowered if each.laws for batch in each.laws.batches}
    assert laws == ours[1] - {"stop"}
    assert {type(one) for each in lowered for one in each.loads} == {JointForces, JointTorques}
    assert {JointForces, JointTorques} == {getattr(load, name) for name in load.__all__} - {load.BodyForces}


ELSEWHERE = {"drive/max_velocity", "drive/brake", "strength_ratio"}
"""Attributes that have a test, or a difference, of their own below."""


def test_every_attribute_that_a_law_takes_is_changed_in_these_scenes():
    """Those of the registry of laws: a new one that these scenes leave infinite, where it does nothing, fails."""
    taken, changed = set(), set()
    for kind in JOINTS.values():
        lowered = scene(kind, "bdf1", 100.0)._simulation.joints.lowered
        for use in lowered.law_uses:
            for part in use.word.parameters:
                if part.attribute:
                    name = part.attribute.removeprefix(use.coordinate.prefix)
                    taken.add(name)
                    changed |= {name} if np.isfinite(use.entry.elements.slot(part.attribute).values).all() else set()
    assert taken - changed <= ELSEWHERE and taken >= ELSEWHERE


@pytest.mark.parametrize("method", ["bdf1", "ctr"])
def test_a_drive_no_faster_than_it_may_be(method):
    """What has become too fast brakes, which max_velocity and brake decide."""

    def build():
        bench = Bench({"dt": 0.01, "integrator/type": method, **TIGHT_TAPE}, gravity=(0, 0, 0))
        base, arm = bench.box("base", fixed=True), bench.box("arm", (0.5, 0.1, 0.1), (0.3, 0, 0), kappa=1e7)

        def drive(sc):
            AffineBodyJointDrive().apply_to(sc, 20.0, 2.0, 1e3)
            sc.edges["drive/target"], sc.edges["drive/max_velocity"], sc.edges["drive/brake"] = 0.3, 1.0, 10.0

        ends = (0.05, -0.1, 0), (0.05, 0.1, 0)
        bench.join(AffineBodyRevoluteJoint, [base], [arm], *ends, strength=100.0, extras=[drive], name="joint")
        return bench.world

    problem = Problem(build, 6)
    found, attributes = problem.gradients(), elements(problem.world, AffineBodyRevoluteJoint)
    for name in ("drive/max_velocity", "drive/brake", "drive/target"):
        base, way = attributes[name].copy(), np.arange(1.0, 7.0) * attributes[name][0]

        def control(s, name=name, base=base, way=way):
            return lambda k: attributes.slot(name).edit().__setitem__(0, base[0] + s * way[k])

        expected = problem.slope(1e-4, control=control)
        attributes[name] = base
        assert abs(found["joint", name][:, 0] @ way - expected) <= 1e-6 * abs(expected) + NOISE, name
        assert expected != 0.0


WAYS = [("bdf1", 100.0), ("ctr", np.inf), ("bdf2", np.inf), ("ctr", 100.0), ("bdf1", np.inf)]
CASES = [(kind, *WAYS[n % 5]) for n, kind in enumerate(JOINTS.values())]
CASES += [(AffineBodyRevoluteJoint, *way) for way in WAYS[1:]]
CASES += [(AffineBodyUniversalJoint, "ctr", np.inf)]  # whose springs bend with it
EACH = {AffineBodyRevoluteJoint, AffineBodyPrismaticJoint}
"""Joints whose attributes are checked one by one; those of the others all together."""


@pytest.mark.parametrize("kind, method, strength", CASES, ids=[f"{k.__name__[10:]}-{m}-{s:g}" for k, m, s in CASES])
def test_gradients_through_a_joint_are_those_of_the_program(kind, method, strength):
    problem = Problem(lambda **changes: scene(kind, method, strength, **changes), STEPS)
    found, is_exact = problem.gradients(), np.isinf(strength)
    rng = np.random.default_rng(1)
    along = rng.normal(size=(3, 4, 3))
    along[0] = 0.0
    pairs = {"V": (np.nansum(found.V * along), problem.slope(1e-5, dV=along))}
    if not is_exact:  # a start that is moved at random is closed by the first step, with a jolt
        pairs["Q"] = np.nansum(found.Q * along), problem.slope(1e-7, dQ=along)
        pairs["strength"] = strength * found["joint", "strength_ratio"].sum(), problem.slope(1e-3, gamma=1.0)
    if not (is_exact and kind is AffineBodyFixedJoint):  # which cannot move at all
        pairs["density"] = found.log_density[1:].sum(), problem.slope(1e-3, rho=1.0)
        pairs["kappa"] = found.log_kappa[1:].sum(), problem.slope(1e-3, kappa=1.0)
    attributes = elements(problem.world, kind)
    # a speed that is not limited has no effect, nor the brake that would keep it
    without = ("strength_ratio", "drive/brake")
    names = [name for _, name in found.names if not name.endswith(without) and np.isfinite(attributes[name]).all()]
    base = {name: attributes[name].copy() for name in names}
    ways = {
        name: rng.normal(size=(STEPS, 2)) * np.where(values == 0.0, 1.0, np.abs(values))
        for name, values in base.items()
    }
    for some in [[name] for name in names] if kind in EACH else [names] if names else []:

        def control(s, some=some):
            def write(k):
                for name in some:
                    attributes[name] = base[name] + s * ways[name][k]

            return write

        expected = problem.slope(1e-4, control=control)
        control(0.0)(0)
        pairs[", ".join(some)] = sum((found["joint", name] * ways[name]).sum() for name in some), expected
    ahead, by = problem.tape().step_jvp(STEPS - 1, 0.0, along), rng.normal(size=(2, 3, 4, 3))
    back = problem.tape().step_vjp(STEPS - 1, *by)
    pairs["forwards"] = sum(float((b * d).sum()) for b, d in zip(by, ahead, strict=True)), np.nansum(back.V * along)
    wrong = {name: both for name, both in pairs.items() if not abs(both[0] - both[1]) <= 1e-6 * abs(both[1]) + NOISE}
    assert not wrong, {name: relative(*both) for name, both in wrong.items()}


LONG = CASES[: len(JOINTS)]


@pytest.mark.parametrize("kind, method, strength", LONG, ids=[f"{k.__name__[10:]}-{m}-{s:g}" for k, m, s in LONG])
def test_fifty_steps_through_a_joint(kind, method, strength):
    """Along a random change of the velocities at the start and of every attribute in every step, all at once."""
    problem = Problem(lambda: scene(kind, method, strength), MANY)
    found, attributes, rng = problem.gradients(), elements(problem.world, kind), np.random.default_rng(1)
    without = ("strength_ratio", "drive/brake")
    names = [name for _, name in found.names if not name.endswith(without) and np.isfinite(attributes[name]).all()]
    base = {name: attributes[name].copy() for name in names}
    ways = {name: rng.normal(size=(MANY, 2)) * np.where(at == 0.0, 1.0, np.abs(at)) for name, at in base.items()}
    along = rng.normal(size=(3, 4, 3))
    along[0] = 0.0

    def control(s):
        def write(k):
            for name, values in base.items():
                attributes[name] = values + s * ways[name][k]

        return write

    value = np.nansum(found.V * along) + sum((found["joint", name] * ways[name]).sum() for name in base)
    # short of where limits, caps and friction set in a step earlier; rods under ctr have more noise than others
    expected = problem.slope(1e-4 if kind is AffineBodyDistanceJoint else 1e-5, dV=along, control=control)
    assert abs(value - expected) <= 1e-6 * abs(expected)
