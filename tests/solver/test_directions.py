"""Newton's direction is the same whoever finds it: sweep, net, factor and conjugate gradients, on all mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from joint_scenes import Bench, axis_angle

from dovetail.constitution import (
    AffineBodyDrivingRevoluteJoint,
    AffineBodyJointCoupling,
    AffineBodyJointDamper,
    AffineBodyJointDrive,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointLimit,
    AffineBodySphericalJoint,
)
from dovetail.solver.model import Model

EXACT = np.inf
UP, ASIDE, AHEAD = np.array([0.0, 0.0, 0.1]), np.array([0.0, 0.1, 0.0]), np.array([0.1, 0.0, 0.0])
CUBE = (0.3, 0.3, 0.3)
"""Bodies with equal moments: of others the sweep leaves out what mass couples rotations and strains by."""

SAME = 1e-9
"""Of the largest entry of a direction. Condition numbers are near 1e5, K of exact joints adds 1e2 to that."""


# ---- mechanisms ------------------------------------------------------------------------------------------------


def cubes(bench: Bench, places: Any, name: str) -> list[tuple[Any, int]]:
    slot = bench.box(name, CUBE, places)
    return [(slot, k) for k in range(len(places))]


def base(bench: Bench, at: Any, name: str = "base") -> tuple[Any, int]:
    return bench.box(name, CUBE, at, fixed=True), 0


def chain(bench: Bench, strength: float = EXACT, y: float = 0.0, links: int = 6) -> None:
    """Hinges about the same axis, and balls in turns with them."""
    places = np.array([(0.4 * k + 0.4, y, 0.0) for k in range(links)])
    bodies = [base(bench, (0.0, y, 0.0), f"base {y}"), *cubes(bench, places, f"links {y}")]
    pins = places - (0.2, 0.0, 0.0)
    for first, kind in enumerate((AffineBodyRevoluteJoint, AffineBodySphericalJoint)):
        mine = slice(first, None, 2)
        points = [pins[mine] - ASIDE, pins[mine] + ASIDE] if first == 0 else [pins[mine]]
        bench.join(kind, bodies[:-1][mine], bodies[1:][mine], *points, strength=strength, name=f"{kind.__name__} {y}")


def tree_of_balls(bench: Bench) -> None:
    rng = np.random.default_rng(2)
    places = rng.normal(size=(9, 3))
    bodies = cubes(bench, places, "bodies")
    above = [base(bench, (0.0, 0.0, 2.0)), *(bodies[(k - 1) // 2] for k in range(1, 9))]
    bench.join(AffineBodySphericalJoint, above, bodies, places + 0.2 * rng.normal(size=(9, 3)), strength=EXACT)


def four_bar(bench: Bench) -> None:
    """A parallelogram: planar, so that its pins hold the plane twice."""
    corners = np.array([(0, 0, 0), (0, 0, 1), (1.2, 0, 1), (1.2, 0, 0.0)])
    bars = cubes(bench, 0.5 * (corners + np.roll(corners, -1, axis=0))[:3], "bars")
    around = [*bars, base(bench, (0.6, 0.0, 0.0))]
    for k in range(4):
        pin = corners[(k + 1) % 4]
        bench.join(
            AffineBodyRevoluteJoint, [around[k]], [around[(k + 1) % 4]], pin - ASIDE, pin + ASIDE, strength=EXACT,
            name=f"pin {k}",
        )  # fmt: skip


def slider_crank(bench: Bench, y: float = 0.0) -> None:
    """Crank, rod and a piston on an exact slider."""
    frame = base(bench, (0.0, y, 0.0), f"frame {y}")
    crank, rod, piston = cubes(bench, [(0.15, y, 0.2), (0.8, y, 0.2), (1.5, y, 0.0)], f"crank {y}")
    pins = [(frame, crank, (0, y, 0)), (crank, rod, (0.3, y, 0.4)), (rod, piston, (1.3, y, 0.0))]
    for k, (left, right, pin) in enumerate(pins):
        ends = np.array(pin) - ASIDE, np.array(pin) + ASIDE
        bench.join(AffineBodyRevoluteJoint, [left], [right], *ends, strength=EXACT, name=f"pin {y} {k}")
    slide = np.array([1.5, y, 0.0])
    bench.join(AffineBodyPrismaticJoint, [frame], [piston], slide, slide + AHEAD, strength=EXACT, name=f"slide {y}")


def driven_arm(bench: Bench, y: float = 0.0) -> None:
    """A drive of the aim on the first hinge, a limit that is violated and a servo on the second, a damper."""

    def drive(sc: Any) -> None:
        AffineBodyDrivingRevoluteJoint().apply_to(sc, 10.0)
        sc.edges["driving/is_constrained"] = 1
        sc.edges["aim_angle"] = 0.4

    def servo(sc: Any) -> None:
        AffineBodyRevoluteJointLimit().apply_to(sc, 0.1, 0.3, 5.0)
        AffineBodyJointDrive().apply_to(sc, 1e4, 10.0, 1e6)
        sc.edges["drive/target"] = 0.2
        AffineBodyJointDamper().apply_to(sc, 2.0)

    bodies = [base(bench, (0.0, y, 0.0), f"post {y}"), *cubes(bench, [(0.4, y, 0.0), (0.8, y, 0.0)], f"arm {y}")]
    for k, extra in enumerate((drive, servo)):
        pin = np.array([0.4 * k + 0.2, y, 0.0])
        bench.join(
            AffineBodyRevoluteJoint, [bodies[k]], [bodies[k + 1]], pin - ASIDE, pin + ASIDE, strength=EXACT,
            extras=[extra], name=f"motor {y} {k}",
        )  # fmt: skip


def coupled_hinges(bench: Bench) -> None:
    """A gear between two wheels on one post."""
    post, wheels = base(bench, (0.0, 0.0, 0.0)), cubes(bench, [(0.5, 0.0, 0.0), (-0.5, 0.0, 0.0)], "wheels")
    hinges = []
    for k, wheel in enumerate(wheels):
        pin = np.array([0.25 - 0.5 * k, 0.0, 0.0])
        hinges.append(
            bench.join(AffineBodyRevoluteJoint, [post], [wheel], pin - UP, pin + UP, strength=EXACT, name=f"hinge {k}")
        )
    gear = AffineBodyJointCoupling().create_geometry([hinges[0].slot], [hinges[1].slot], -2.5, 0.0, EXACT)
    bench.scene.objects.create("gear").geometries.create(gear)


def free_bodies(bench: Bench, y: float = 0.0) -> None:
    cubes(bench, [(k, y, 0.0) for k in range(3)], f"free {y}")


def net(bench: Bench, strength: float = 100.0, y: float = 0.0, side: int = 4) -> None:
    """Cubes in a level grid, neighbours joined by balls, held at a corner."""
    places = np.array([(0.4 * i, y + 0.4 * j, 0.0) for i in range(side) for j in range(side)])
    bodies = cubes(bench, places, f"net {y}")
    pairs = np.array(
        [(side * i + j, side * i + j + 1) for i in range(side) for j in range(side - 1)]
        + [(side * i + j, side * (i + 1) + j) for i in range(side - 1) for j in range(side)]
    )
    left, right = ([bodies[k] for k in column] for column in pairs.T)
    middle = places[pairs].mean(axis=1)
    bench.join(AffineBodySphericalJoint, left, right, middle, strength=strength, name=f"balls {y}")
    post = base(bench, (-0.4, y, 0.0), f"post of net {y}")
    bench.join(AffineBodySphericalJoint, [post], [bodies[0]], (-0.2, y, 0.0), strength=strength, name=f"corner {y}")


def yielding_chain(bench: Bench) -> None:
    """Penalties alone, with a slider at the end."""
    chain(bench, 100.0)
    tip = base(bench, (3.5, 0.0, 0.0), "rail")
    (carriage,) = cubes(bench, [(3.5, 0.0, 0.5)], "carriage")
    slide = np.array([3.5, 0.0, 0.2])
    bench.join(AffineBodyPrismaticJoint, [tip], [carriage], slide, slide + AHEAD, strength=50.0, name="yielding slide")


def mixture(bench: Bench) -> None:
    """Everything beside each other: each mechanism is solved by what fits it."""
    chain(bench)
    net(bench, y=3.0)
    free_bodies(bench, y=6.0)
    slider_crank(bench, y=7.0)
    driven_arm(bench, y=8.0)
    chain(bench, 100.0, y=9.0)


MECHANISMS: dict[str, tuple[Callable[[Bench], None], set[str]]] = {
    "chain": (chain, {"sweep", "net"}),
    "tree of balls": (tree_of_balls, {"sweep", "net"}),
    "four-bar loop": (four_bar, {"net"}),
    "slider-crank": (slider_crank, {"net"}),
    "driven and limited arm": (driven_arm, {"sweep"}),
    "coupled hinges": (coupled_hinges, set()),
    "free bodies": (free_bodies, {"conjugate"}),
    "net": (net, {"net", "conjugate"}),
    "exact net": (lambda bench: net(bench, EXACT), {"net"}),
    "chain with penalty joints": (yielding_chain, {"sweep", "net", "conjugate"}),
    "mixture": (mixture, {"sweep", "net", "conjugate"}),
}
"""How it is built, and who of those that do not fit everything has bodies of it."""

mechanisms = pytest.mark.parametrize("name", MECHANISMS)


# ---- directions ------------------------------------------------------------------------------------------------


def lowered(name: str, direction: str, strain: float) -> tuple[Model, np.ndarray]:
    """The model of a mechanism, and a state in which bodies are displaced, turned, and strained; Q̃ is another one."""
    bench = Bench({"newton/direction": direction}, gravity=(1.0, 2.0, -9.8))
    MECHANISMS[name][0](bench)
    simulation = bench.lowered()
    model, rng = simulation.model, np.random.default_rng(7)
    Q = simulation.state.Q.copy()
    for b in np.flatnonzero(model.bodies.is_free):
        Q[b, 0] += 1e-3 * rng.normal(size=3)
        Q[b, 1:] = Q[b, 1:] @ axis_angle(rng.normal(size=3), 1e-3 * rng.normal()).T
        Q[b, 1:] += strain * rng.normal(size=(3, 3))
    model.potential.Q_tilde[:] = Q + 1e-2 * rng.normal(size=Q.shape) * model.bodies.is_free[:, None, None]
    return model, Q


def newton(name: str, direction: str, strain: float, exact: bool = False) -> np.ndarray:
    model, Q = lowered(name, direction, strain)
    return model.directions.newton(model.potential.bare(Q), exact).copy()


def takes_part(model: Model, direction: str) -> bool:
    """Whether a solver has bodies of a mechanism."""
    directions = model.directions
    directions.need_blocks()
    return {
        "sweep": directions.sweep is not None and bool(directions.sweep.fits.any()),
        "net": bool(directions.blocks.in_net.any()),
        "conjugate": bool(directions.blocks.iterative.any()),
    }[direction]


def assert_same(found: np.ndarray, expected: np.ndarray, tolerance: float = SAME) -> None:
    assert np.abs(expected).max() > 1e-3  # steps of a centimetre were asked for
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * np.abs(expected).max())


@mechanisms
@pytest.mark.parametrize("direction", ["sweep", "net", "conjugate"])
def test_a_solver_takes_the_mechanisms_that_fit_it(name, direction):
    model, _ = lowered(name, direction, 0.0)
    assert takes_part(model, direction) == (direction in MECHANISMS[name][1])


@mechanisms
@pytest.mark.parametrize(("exact", "strain"), [(False, 1e-3), (True, 1e-3), (True, 1e-5)])
def test_net_and_factor_find_the_same_direction(name, exact, strain):
    """With the larger strain the exact Hessian is indefinite, and both take the safe one."""
    assert_same(newton(name, "net", strain, exact), newton(name, "factor", strain, exact))


@mechanisms
def test_conjugate_gradients_and_factor_find_the_same_direction(name):
    """With a tight tolerance; Newton's iteration asks for a residual of 1e-2 alone."""
    expected = newton(name, "factor", 1e-3)
    assert_same(newton(name, "conjugate", 1e-3), expected, 0.1)
    model, Q = lowered(name, "conjugate", 1e-3)
    blocks, exact, active = model.directions.blocks, model.potential.exact, model.bodies.is_free
    model.directions.need_blocks()
    model.potential.assemble(model.potential.bare(Q), False, active, blocks)
    assert blocks.factor(active) == -1
    y = blocks.solve(active, blocks.g, 1e-14)
    if exact is not None:
        exact.direction(Q, blocks, active, y)
    assert_same(y, expected)


@mechanisms
def test_conjugate_gradients_are_rough_only_where_all_islands_have_far_to_go(name):
    """The first step of all, and one after a step of less than ten tolerances, may be the last."""
    model, Q = lowered(name, "conjugate", 1e-3)
    directions, islands = model.directions, model.islands
    if not takes_part(model, "conjugate"):
        return
    asked, at, solve = [], model.potential.bare(Q), directions.blocks.solve

    def spy(active, b, tolerance):
        asked.append(tolerance)
        return solve(active, b, tolerance)

    directions.blocks.solve = spy
    chosen = np.flatnonzero(directions.blocks.iterative)[0]
    for iteration, size in ((0, 1e3), (1, 1e3), (1, 9.9)):
        islands.size[: islands.count] = 1e3
        islands.size[islands.of[chosen]] = size
        directions.newton(at, True, iteration)
    assert asked == [1e-2, 0.1, 1e-2]


@mechanisms
@pytest.mark.parametrize("direction", ["sweep", "auto"])
def test_sweep_and_factor_find_the_same_direction_where_bodies_are_not_strained(name, direction):
    assert_same(newton(name, direction, 0.0), newton(name, "factor", 0.0))


@pytest.mark.parametrize("name", [name for name, (_, fits) in MECHANISMS.items() if "sweep" in fits])
def test_where_bodies_are_strained_the_sweep_leaves_out_terms_of_that_order(name):
    strain, errors = 1e-6, []
    for size in (0.0, strain):
        found, expected = newton(name, "sweep", size), newton(name, "factor", size)
        errors.append(np.abs(found - expected).max() / np.abs(expected).max())
    assert 10 * errors[0] < errors[1] < strain
