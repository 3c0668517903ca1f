"""Twenty scenes whose gradients are compared with differences of the program: chains, loops, limits, piles, robots.

    python benchmarks/gradient_scenes.py                  # all of them; writes docs/gradients_compared.md
    python benchmarks/gradient_scenes.py gripper loop     # those with such names; the page keeps the other rows

A loss is linear in all states, with random coefficients. Its slopes along a random motion of all bodies at the start,
along random forces in every step, and along ln μ where bodies touch, are compared with Richardson's differences of
whole rollouts (`Rollouts.slope`), which know nothing of the gradient. Scenes in touch settle
first, so that a single step has contacts, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail import Sim

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gradients_compared.md"
ROBOTS = ROOT / "examples" / "robots"
TIGHT = {"newton/velocity_tol": 1e-10, "newton/transrate_tol": 1e-10, "contact/ease_in": 0}


class Case(NamedTuple):
    """What is built, how many steps it settles for, and whether bodies touch."""

    build: Callable[..., Sim]
    settles: int = 0
    touches: bool = False


def empty(integrator: str = "ctr", **options: Any) -> Sim:
    config = TIGHT | options.pop("config", {})
    return Sim(integrator=integrator, config=config, **({"contact": False} | options))


def chain(joint: str, integrator: str, links: int = 10, exact: bool = True, **options: Any) -> Sim:
    """Links of 20 cm on a wall, axes across each other in turn."""
    sim, last = empty(integrator, exact=exact), None
    for k in range(links):
        body = sim.box((0.2, 0.05, 0.05), pos=(0.2 * k + 0.1, 0, 0), spin=(0, 0.3, 0.1))
        at = (0.2 * k, 0, 0)
        if joint == "spherical":
            sim.spherical(last, body, pos=at)
        else:
            sim.revolute(last, body, pos=at, axis=(0, 1, 0) if k % 2 else (0, 1, 1), **options)
        last = body
    return sim


def free() -> Sim:
    sim = empty()
    sim.box((0.3, 0.2, 0.1), spin=(1.0, 2.0, -0.5), velocity=(1, 0, 2))
    return sim


def soft() -> Sim:
    """Bodies of 0.1 MPa that wobble."""
    sim = empty("bdf1", kappa=1e5)
    first, second = (sim.box((0.3, 0.1, 0.1), pos=(0.15 + 0.3 * k, 0, 0), spin=(2, 1, 0)) for k in range(2))
    sim.spherical(None, first, pos=(0, 0, 0))
    sim.revolute(first, second, pos=(0.3, 0, 0), axis=(0, 1, 0))
    return sim


def servo(armature: float = 0.0, **options: Any) -> Sim:
    """An arm of three joints that drives turn to their targets, one of them at its cap."""
    sim, last = empty(**options), None
    for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0)]):
        body = sim.box((0.3, 0.06, 0.06), pos=(0.3 * k + 0.15, 0, 0))
        joint = sim.revolute(last, body, pos=(0.3 * k, 0, 0), axis=axis, **({"armature": armature} if armature else {}))
        drive = joint.drive
        drive.stiffness, drive.damping, drive.target, drive.max_effort = 200.0, 5.0, 0.3 - 0.2 * k, 15.0
        last = body
    return sim


def limited(hard: bool, integrator: str) -> Sim:
    """A double pendulum that runs into its limits."""
    sim, last = empty(integrator), None
    for k in range(2):
        body = sim.box((0.3, 0.05, 0.05), pos=(0.3 * k + 0.15, 0, 0), spin=(0, 2.0, 0))
        at = (0.3 * k, 0, 0)
        sim.revolute(last, body, pos=at, axis=(0, 1, 0), limit=(-0.4, 0.3 - 0.1 * k), hard=hard, damping=0.1)
        last = body
    return sim


def four_bar(integrator: str = "ctr", exact: bool = True) -> Sim:
    sim = empty(integrator, exact=exact)
    corners = np.array([(0, 0, 0), (0, 0, 0.3), (0.5, 0, 0.5), (0.6, 0, 0)])
    bars = [sim.capsule(0.03, np.linalg.norm(b - a) / 2, pos=(a + b) / 2) for a, b in pairwise(corners)]
    pairs = [(None, bars[0]), (bars[0], bars[1]), (bars[1], bars[2]), (None, bars[2])]
    for pair, at in zip(pairs, corners, strict=True):
        sim.revolute(*pair, pos=at, axis=(0, 1, 0), damping=0.02)
    return sim


def slider_crank() -> Sim:
    """A crank, a rod and a piston, which joints that yield hold."""
    sim = empty("bdf1", exact=False)
    crank = sim.box((0.2, 0.04, 0.04), pos=(0.1, 0, 0), spin=(0, -3.0, 0))
    rod = sim.box((0.5, 0.04, 0.04), pos=(0.45, 0, 0))
    piston = sim.box((0.1, 0.1, 0.1), pos=(0.75, 0, 0))
    for pair, x in (((None, crank), 0.0), ((crank, rod), 0.2), ((rod, piston), 0.7)):
        sim.revolute(*pair, pos=(x, 0, 0), axis=(0, 1, 0))
    sim.prismatic(None, piston, axis=(1, 0, 0), friction=0.5)
    return sim


def gears() -> Sim:
    """Two wheels with weights off their axes, which a gear ties, and a third that follows softly."""
    sim, hinges = empty(), []
    for k in range(3):
        wheel = sim.box((0.3, 0.05, 0.1), pos=(0.5 * k + 0.1, 0, 0))
        hinges.append(sim.revolute(None, wheel, pos=(0.5 * k, 0, 0), axis=(0, 1, 0), damping=0.01))
    sim.couple(hinges[1], hinges[0], -1.5)
    sim.couple(hinges[2], hinges[1], 0.5, strength=0.2)
    return sim


def medley() -> Sim:
    """A cross, a shaft, a thread, a plane and a bead, one after the other."""
    sim = empty()
    bodies = [None, *(sim.box((0.2, 0.1, 0.1), pos=(0.25 * k + 0.1, 0, 0), spin=(0.2, 0.5, 0)) for k in range(5))]
    made: list[Callable[[Any, Any, Any], Any]] = [
        lambda a, b, at: sim.universal(a, b, pos=at, axis=(0, 1, 0), cross=(0, 0, 1)),
        lambda a, b, at: sim.cylindrical(a, b, pos=at, axis=(1, 0, 0)),
        lambda a, b, at: sim.screw(a, b, pos=at, axis=(0, 1, 0), pitch=0.1),
        lambda a, b, at: sim.planar(a, b, pos=at, normal=(0, 0, 1)),
        lambda a, b, at: sim.point_on_line(a, b, pos=at, axis=(0, 1, 1)),
    ]
    for k, make in enumerate(made):
        make(bodies[k], bodies[k + 1], (0.25 * k, 0, 0))
    return sim


def loose() -> Sim:
    """A D6 joint and a ball that is driven."""
    sim = empty()
    arm = sim.box((0.4, 0.1, 0.1), pos=(0.2, 0, 0), spin=(1.0, 0.5, 0.3))
    hand = sim.box((0.3, 0.1, 0.1), pos=(0.55, 0, 0))
    frame = sim.d6(None, arm, (0, 0, 0), x=(-1e-3, 1e-3), rx="free", ry="driven", rz="free")
    ball = sim.spherical(arm, hand, pos=(0.4, 0, 0), drive=(0.1, 0.2, -0.1))
    for drive in (frame.coordinates["ry"].drive, ball.drive):
        drive.stiffness, drive.damping = 20.0, 2.0
    return sim


def robot(name: str, integrator: str = "ctr", **options: Any) -> Sim:
    sim = empty(integrator)
    made = sim.robot(ROBOTS / name, **options)
    for joint in made.joints.values():
        if joint.coordinates and joint.drive.present:
            joint.drive.stiffness, joint.drive.damping, joint.drive.target = 100.0, 3.0, 0.1
    return sim


def stack(boxes: int) -> Sim:
    """Boxes one on the other, askew, which begin to slide."""
    sim = empty(contact=True, d_hat=5e-3)
    sim.ground()
    for k in range(boxes):
        row, level = divmod(k, 3)
        at = (0.03 * level + 0.4 * row, 0.02 * level, 0.104 + 0.2045 * level)
        sim.box((0.2, 0.2, 0.2), pos=at, velocity=(0.5 - 0.2 * level, 0.1, 0))
    return sim


def slope() -> Sim:
    """A box slides down a board and into another one."""
    sim = empty(contact=True, friction=0.3, d_hat=5e-3)
    sim.box((2.0, 0.5, 0.1), pos=(0, 0, -0.05), fixed=True)
    sim.scene.config["gravity"] = [3.0, 0.5, -9.0]
    sim.box((0.2, 0.1, 0.1), pos=(-0.3, 0, 0.054), velocity=(1.0, 0, 0))
    sim.box((0.2, 0.1, 0.1), pos=(-0.08, 0.02, 0.054))
    return sim


def puck() -> Sim:
    """A puck slides on its end into a box; both begin where the ground bears them."""
    sim = empty(contact=True, friction=0.3, d_hat=5e-3)
    sim.ground()
    sim.cylinder(0.05, 0.04, pos=(0, 0, 0.02495), velocity=(1.5, 0.1, 0), spin=(0, 0, 3.0))
    sim.box((0.1, 0.2, 0.1), pos=(0.22, 0.03, 0.0548))
    return sim


def pusher() -> Sim:
    """An arm on an exact hinge pushes a box over the ground."""
    sim = empty(contact=True, friction=0.4, d_hat=5e-3)
    sim.ground()
    arm = sim.box((0.5, 0.05, 0.1), pos=(0.25, 0, 0.12))
    hinge = sim.revolute(None, arm, pos=(0, 0, 0.12), axis=(0, 0, 1))
    hinge.torque = 6.0
    sim.box((0.1, 0.1, 0.2), pos=(0.4, 0.082, 0.104))
    return sim


def gripper() -> Sim:
    """Two fingers on a palm press a cube with 20 N each, and a drive lifts it."""
    sim = empty(contact=True, friction=0.8, d_hat=2e-3)
    sim.ground()
    sim.box((0.06, 0.06, 0.06), pos=(0, 0, 0.0318), density=500.0)
    palm = sim.box((0.24, 0.08, 0.03), pos=(0, 0, 0.2))
    lift = sim.prismatic(None, palm, axis=(0, 0, 1)).drive
    lift.stiffness, lift.damping, lift.target = 2000.0, 100.0, 0.05
    for side in (-1.0, 1.0):
        finger = sim.box((0.02, 0.05, 0.14), pos=(0.0417 * side, 0, 0.1))
        sim.prismatic(palm, finger, axis=(-side, 0, 0), damping=5.0).force = 20.0
    return sim


def ball() -> Sim:
    """A ball that ground brings to rest, which resists rolling."""
    sim = empty(contact=True, friction=0.4, d_hat=5e-3)
    sim.ground(rolling_friction=5e-3)
    sim.sphere(0.05, pos=(0, 0, 0.054), velocity=(0.5, 0.1, 0), spin=(-2.0, 10.0, 1.0))
    return sim


def bouncer() -> Sim:
    """A box that the ground gives back half of its speed."""
    sim = empty(contact=True, friction=0.3, d_hat=5e-3)
    sim.ground(restitution=0.5)
    sim.box((0.2, 0.15, 0.1), pos=(0, 0, 0.062), velocity=(0.3, 0.1, -1.0), spin=(0.1, 0.1, 1.0))
    return sim


CASES = {
    "free body, ctr": Case(free),
    "soft bodies, bdf1": Case(soft),
    "chain of 10 balls, penalty, bdf1": Case(lambda: chain("spherical", "bdf1", exact=False)),
    "chain of 10 balls, exact, ctr": Case(lambda: chain("spherical", "ctr")),
    "chain of 10 hinges, exact, bdf2": Case(lambda: chain("revolute", "bdf2")),
    "chain of 6 hinges with dampers and friction, bdf1": Case(
        lambda: chain("revolute", "bdf1", 6, damping=0.05, friction=0.02)
    ),
    "driven arm with caps, ctr": Case(servo),
    "driven arm with rotors, ctr": Case(lambda: servo(0.02)),
    "soft limits, ctr": Case(lambda: limited(False, "ctr")),
    "hard limits, bdf1": Case(lambda: limited(True, "bdf1")),
    "four-bar loop, exact, ctr": Case(four_bar),
    "slider-crank loop, penalty, bdf1": Case(slider_crank),
    "gears, exact and soft, ctr": Case(gears),
    "cross, shaft, thread, plane, bead, ctr": Case(medley),
    "D6 joint and driven ball, ctr": Case(loose),
    "robot arm of 7 joints and a mimic gripper, bdf1": Case(lambda: robot("arm7.urdf", "bdf1")),
    "quadruped in the air, ctr": Case(lambda: robot("quadruped.urdf", fixed_base=False)),
    "pile of 3 boxes": Case(lambda: stack(3), 8, True),
    "pile of 9 boxes": Case(lambda: stack(9), 8, True),
    "boxes slide down a board": Case(slope, 8, True),
    "puck that slides into a box": Case(puck, 2, True),
    "ball that rolls against friction": Case(ball, 8, True),
    "box that bounces": Case(bouncer, 1, True),
    "arm that pushes a box": Case(pusher, 10, True),
    "gripper that lifts a cube": Case(gripper, 10, True),
}


class Rollouts:
    """Rollouts of a case that begin in one state, and a loss of them."""

    def __init__(self, case: Case, steps: int, seed: int = 0) -> None:
        self.case, self.steps, self.sim = case, steps, case.build()
        self.sim.step(case.settles)
        self.start, self._of = self.sim.state, self.sim.world._simulation
        self._mu = None if self._of.contact is None else self._of.contact.scene.mu.copy()
        rng, n = np.random.default_rng(seed), len(self._of.state.Q)
        self.by_Q, self.by_V = rng.normal(size=(steps + 1, n, 4, 3)), 0.1 * rng.normal(size=(steps + 1, n, 4, 3))
        free = (self._of.model.bodies.is_free != 0)[:, None, None]
        self.way_V, self.way_F = np.zeros((n, 4, 3)), np.zeros((steps, n, 4, 3))
        self.way_V[:, 0], spin = rng.normal(size=(2, n, 3))
        self.way_V[:, 1:] = np.cross(spin[:, None], self._of.state.Q[:, 1:])
        self.way_V = np.where(free, self.way_V, 0.0)
        mass = self._of.model.bodies.mass[:, :1, :1]
        # some that last, beside those of each step, which nearly cancel each other over fifty
        self.way_F[:, :, :1] = np.where(free, mass * rng.normal(size=(steps, n, 1, 3)), 0.0)
        self.way_F[:, :, :1] += np.where(free, mass * rng.normal(size=(n, 1, 3)), 0.0)

    def tape(self, dV: float = 0.0, dF: float = 0.0, mu: float = 0.0) -> Any:
        of, everyone = self._of, np.arange(len(self._of.state.Q))
        self.sim.state = self.start
        if of.contact is not None:
            of.contact.scene.mu[:] = np.exp(mu) * self._mu
        # also without a change: contacts are looked for again, with this μ
        of.write_state("gradient_scenes", everyone, of.state.Q, of.velocity + dV * self.way_V)

        def push(k: int) -> None:
            of.pushes.set(everyone, dF * self.way_F[k])

        try:
            return self.sim.rollout(self.steps, push if dF else None, smooth=self.case.touches)
        finally:
            of.pushes.set(everyone[:0], np.zeros((0, 4, 3)))

    def loss(self, **ways: float) -> float:
        tape = self.tape(**ways)
        return float((self.by_Q * tape.Q).sum() + (self.by_V * tape.V).sum())

    def slope(self, name: str) -> tuple[float, float]:
        """Richardson's differences along a way, and how far they can be trusted.

        Steps h are halved from one on which bodies hardly feel; each is extrapolated once and twice. What the next
        half changes is noise, and never less than what rounding does to smaller steps, which falls as 1/h: two numbers
        that happen to agree do not count. The least noise wins.
        """
        steps = (1e-2 if self.case.touches else 1.0) * 0.5 ** np.arange(16)
        once = np.array([(self.loss(**{name: h}) - self.loss(**{name: -h})) / (2 * h) for h in steps])
        found = []
        for power in (4.0, 16.0):
            once = (power * once[1:] - once[:-1]) / (power - 1.0)
            change = np.abs(np.diff(once))
            h = steps[: len(change)]
            noise = np.maximum.accumulate((change * h)[::-1])[::-1] / h
            best = noise.argmin()
            found.append((float(once[best + 1]), float(noise[best])))
        return min(found, key=lambda pair: pair[1])

    def errors(self) -> dict[str, float]:
        """Of the slopes along all ways, relative to them, and the most that refining changes differences by."""
        found = self.tape().backward(self.by_Q, self.by_V, strict=True)
        slopes = {"dV": float(np.nansum(found.V * self.way_V)), "dF": float((found.forces * self.way_F).sum())}
        if self.case.touches:
            slopes["mu"] = float(found.log_mu.sum())
        out = {}
        for name, ours in slopes.items():
            expected, noise = self.slope(name)
            out[name] = abs(ours - expected) / abs(expected)
            out["noise"] = max(out.get("noise", 0.0), noise / abs(expected))
        return out


def table(names: list[str]) -> Iterator[tuple[str, str]]:
    """Rows by what they begin with, scene and steps."""
    for name in names:
        for steps in (1, 50):
            errors = Rollouts(CASES[name], steps).errors()
            told = [f"{errors[key]:.0e}" if key in errors else "" for key in ("dV", "dF", "mu", "noise")]
            yield f"| {name} | {steps} |", f" {' | '.join(told)} |"


HEAD = f"""# Gradients compared

Relative errors of gradients against Richardson's differences of whole rollouts, over 1 and 50 steps: along a random
motion of all bodies at the start, random forces in every step, and ln μ. Bodies that touch are rolled out with
`smooth=True`. The bars are 1e-6 without contact, which no row above the piles has, and 1e-5 with it. Noise is what
halving their steps changes differences by, and no less than rounding does to smaller steps.
Written by `python benchmarks/gradient_scenes.py`.

| scene ({len(CASES)}) | steps | motion | forces | ln μ | noise of differences |
|---|---|---|---|---|---|
"""

if __name__ == "__main__":
    chosen = [name for name in CASES if not sys.argv[1:] or any(word in name for word in sys.argv[1:])]
    order = [f"| {name} | {steps} |" for name in CASES for steps in (1, 50)]
    known = PAGE.read_text(encoding="utf-8").splitlines()
    rows = {begin: line.removeprefix(begin) for begin in order for line in known if line.startswith(begin)}
    for begin, rest in table(chosen):
        print(begin + rest, flush=True)
        rows[begin] = rest
        page = "".join(f"{begin}{rows[begin]}\n" for begin in order if begin in rows)
        PAGE.write_text(HEAD + page, encoding="utf-8")
