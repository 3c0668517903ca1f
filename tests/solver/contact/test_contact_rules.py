"""Who touches whom, how stiffly and from which distance: materials, subscenes, ranges, thicknesses, masks."""

from __future__ import annotations

from typing import Any

import ipctk
import numpy as np
import pytest
from contact_scenes import BOX, Probe, Stage, box, scaled
from scenes import pose, rotation

from dovetail.constitution import AffineBodyRevoluteJoint, AffineBodyRod, AffineBodyShell
from dovetail.geometry import SimplicialComplex, linemesh, trimesh

D_HAT = 0.02
GAP = 0.005


def barrier(gap: float, d_hat: float = D_HAT, thickness: float = 0.0) -> float:
    return float(ipctk.barrier((thickness + gap) ** 2 - thickness**2, (thickness + d_hat) ** 2 - thickness**2))


def tip() -> SimplicialComplex:
    """A pyramid that stands on its tip: one vertex is lowest by far."""
    points = np.array([[0, 0, 0], [-0.3, -0.3, 0.5], [0.3, -0.3, 0.5], [0.3, 0.3, 0.5], [-0.3, 0.3, 0.5]])
    return trimesh(points, np.array([[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 1, 4], [1, 2, 3], [1, 3, 4]]))


def tip_over_plate(stage: Stage, gap: float = GAP, upper: Any = None, lower: Any = None, shift: float = 0.1) -> None:
    """A tip `gap` above the middle of a plate's top: one contact. `upper`, `lower` are run on the meshes."""
    stage.add("plate", box(2, 2, 0.2), [(0, 0, -0.1)], applied=[] if lower is None else [lower])
    stage.add("tip", tip(), [(shift, 0.05, gap)], applied=[] if upper is None else [upper])


def energy(stage: Stage) -> float:
    probe = stage.probe()
    return probe.energy(probe.Q) / probe.h**2


# ---- materials -------------------------------------------------------------------------------------------------


def test_a_pair_of_materials_has_its_own_stiffness_and_friction():
    stage = Stage(d_hat=D_HAT)
    table = stage.scene.contact_tabular
    table.default_model(0.1, 1e6)
    steel, rubber = table.create("steel"), table.create("rubber")
    table.insert(steel, rubber, 0.7, 3e7)
    tip_over_plate(stage, upper=rubber.apply_to, lower=steel.apply_to)
    probe = stage.probe()
    normal = -2 * GAP * 3e7 * ipctk.barrier_first_derivative(GAP**2, D_HAT**2)
    at_rest = 3e7 * barrier(GAP) + 0.7 * normal * probe.simulation.dt * 0.01 / 3  # μλ f₀(0) = μλ ε/3
    assert probe.energy(probe.Q) == pytest.approx(probe.h**2 * at_rest, rel=1e-12)
    slid = probe.Q.copy()
    slid[1, 0, 0] += 1e-3  # ten times ε: friction is fully kinetic
    g, _ = probe.derivatives(slid, look=False)
    assert g[12] == pytest.approx(probe.h**2 * 0.7 * normal, rel=1e-9)


def test_pairs_without_a_row_of_their_own_use_the_default_model():
    stage = Stage(d_hat=D_HAT)
    table = stage.scene.contact_tabular
    table.default_model(0.0, 2e6)
    steel, rubber = table.create("steel"), table.create("rubber")
    table.insert(steel, steel, 0.0, 1e9)
    tip_over_plate(stage, upper=rubber.apply_to, lower=steel.apply_to)
    assert energy(stage) == pytest.approx(2e6 * barrier(GAP), rel=1e-12)


def test_a_pair_that_is_switched_off_passes_through_and_others_do_not():
    stage = Stage(gravity=(0, 0, -10))
    table = stage.scene.contact_tabular
    ghost = table.create("ghost")
    table.insert(ghost, table.default_element(), 0.0, 1e9, enable=False)
    table.insert(ghost, ghost, 0.5, 1e9)
    stage.add("floor", box(3, 3, 0.2), [(0, 0, -0.1)], fixed=True)
    cube = scaled(BOX, 0.2)
    solid = stage.add("solid", cube, [(-0.5, 0, 0.12)])
    ghosts = stage.add("ghosts", cube, [(0.5, 0, 0.12), (0.5, 0, 0.35)], applied=[ghost.apply_to])
    stage.ignored = {frozenset((f"ghosts[{k}]", other)) for k in range(2) for other in ("floor[0]", "solid[0]")}
    stage.run(40)
    falling = ghosts.geometry.transforms.values[:, 2, 3]
    assert solid.geometry.transforms.values[0, 2, 3] == pytest.approx(0.1, abs=1e-3)
    assert (falling < -0.4).all() and falling[1] - falling[0] > 0.2


def test_a_default_model_that_is_off_leaves_only_the_pairs_that_are_on():
    stage = Stage(d_hat=D_HAT)
    table = stage.scene.contact_tabular
    table.default_model(0.0, 1e6, False)
    steel = table.create("steel")
    table.insert(steel, steel, 0.0, 1e6, True)
    tip_over_plate(stage, upper=steel.apply_to, lower=steel.apply_to)
    stage.add("other", tip(), [(-0.5, 0.05, GAP)])
    probe = stage.probe()
    probe.energy(probe.Q)
    assert [(a, b) for _, a, b, *_ in probe.contacts()] == [(1, 0)]


def painted(values: Any) -> Any:
    """Give every vertex a contact element of its own."""

    def apply(sc: SimplicialComplex) -> None:
        sc.vertices.create("contact_element_id", 0)
        sc.vertices["contact_element_id"] = values

    return apply


def test_vertices_may_have_materials_of_their_own_and_a_contact_takes_the_mean():
    """A triangle of the plate's top has corners of materials 1, 1 and 2, the tip is of material 0."""
    stage = Stage(d_hat=D_HAT)
    table = stage.scene.contact_tabular
    table.default_model(0.0, 1e6)
    table.create("one")
    two = table.create("two")
    table.insert(table.default_element(), two, 0.0, 7e6)
    plate = box(2, 2, 0.2)
    top = next(t for t in plate[1].tolist() if 0.1 in plate[0][t][:, 2] and len(set(plate[0][t][:, 2])) == 1)
    ids = np.ones(8, int)
    ids[top[1]] = 2
    inside = plate[0][top].mean(axis=0)
    stage.add("plate", plate, [(0, 0, 0)], applied=[painted(ids)])
    stage.add("tip", tip(), [np.add(inside, (0, 0, GAP))])
    assert energy(stage) == pytest.approx((1e6 + 7e6 + 1e6) / 3 * barrier(GAP), rel=1e-12)


def test_vertices_of_a_material_that_is_off_do_not_touch():
    stage = Stage(d_hat=D_HAT)
    table = stage.scene.contact_tabular
    table.default_model(0.0, 1e6)
    air = table.create("air")
    table.insert(air, table.default_element(), 0.0, 1e6, enable=False)
    tip_over_plate(stage, upper=painted([1, 0, 0, 0, 0]))
    assert energy(stage) == 0.0


def test_energy_stays_continuous_where_materials_change_on_a_surface():
    """A tip slides over a plate whose corners differ in stiffness: no jump at the border of its triangles."""
    stage = Stage(d_hat=D_HAT)
    table = stage.scene.contact_tabular
    table.default_model(0.0, 1e6)
    for k in range(1, 4):
        table.insert(table.create(f"material {k}"), table.default_element(), 0.0, 1e6 * 4**k)
    tip_over_plate(stage, lower=painted([0, 1, 2, 3, 0, 1, 2, 3]), shift=0.0)
    probe = stage.probe()
    low, high = -0.5, 0.5

    def at(x: float) -> float:
        Q = probe.Q.copy()
        Q[1, 0, :2] = x, 0.1
        return probe.energy(Q)

    E_low, E_high = at(low), at(high)
    for _ in range(45):
        middle = (low + high) / 2
        E = at(middle)
        if abs(E - E_low) > abs(E_high - E):
            high, E_high = middle, E
        else:
            low, E_low = middle, E
    assert abs(E_high - E_low) <= 1e-9 * E_low
    for x in np.linspace(0.08, 0.12, 9):  # on either side of the border, which is at 0.1
        Q = probe.Q.copy()
        Q[1, 0, :2] = x, 0.1
        g, _ = probe.derivatives(Q)
        slope = (at(x + 1e-7) - at(x - 1e-7)) / 2e-7
        assert g[12] == pytest.approx(slope, rel=1e-5, abs=1e-5 * E_low / GAP)


# ---- subscenes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("meet", [False, True])
def test_bodies_of_two_subscenes_meet_only_if_told_so(meet):
    stage = Stage(d_hat=D_HAT)
    stage.material(0.0, 1e6)
    table = stage.scene.subscene_tabular
    left, right = table.create("left"), table.create("right")
    table.insert(left, right, meet)
    tip_over_plate(stage, upper=left.apply_to, lower=right.apply_to)
    assert energy(stage) == pytest.approx(1e6 * barrier(GAP) if meet else 0.0, rel=1e-12)


def test_bodies_of_one_subscene_meet():
    stage = Stage(d_hat=D_HAT)
    stage.material(0.0, 1e6)
    left = stage.scene.subscene_tabular.create("left")
    tip_over_plate(stage, upper=left.apply_to, lower=left.apply_to)
    assert energy(stage) == pytest.approx(1e6 * barrier(GAP), rel=1e-12)


@pytest.mark.parametrize("meet", [False, True])
def test_a_half_plane_belongs_to_a_subscene_too(meet):
    stage = Stage(d_hat=D_HAT)
    stage.material(0.0, 1e6)
    left = stage.scene.subscene_tabular.create("left")
    plane = stage.ground()
    if meet:
        left.apply_to(plane.geometry)
    stage.add("tip", tip(), [(0, 0, GAP)], applied=[left.apply_to])
    assert energy(stage) == pytest.approx(1e6 * barrier(GAP) if meet else 0.0, rel=1e-12)


# ---- ranges and thickness --------------------------------------------------------------------------------------


def ranged(d_hat: float) -> Any:
    def apply(sc: SimplicialComplex) -> None:
        sc.meta.create("d_hat", d_hat)

    return apply


def test_a_pair_has_the_mean_of_the_ranges_of_its_meshes():
    stage = Stage(d_hat=1e-4)
    stage.material(0.0, 1e6)
    tip_over_plate(stage, upper=ranged(0.03), lower=ranged(0.01))
    assert energy(stage) == pytest.approx(1e6 * barrier(GAP, 0.02), rel=1e-12)
    narrow = Stage(d_hat=0.5)
    narrow.material(0.0, 1e6)
    tip_over_plate(narrow, upper=ranged(0.002), lower=ranged(0.001))
    assert energy(narrow) == 0.0


def test_a_half_plane_is_felt_at_the_range_of_the_mesh():
    stage = Stage(d_hat=1e-4)
    stage.material(0.0, 1e6)
    stage.ground()
    stage.add("tip", tip(), [(0, 0, GAP)], applied=[ranged(0.01)])
    assert energy(stage) == pytest.approx(1e6 * barrier(GAP, 0.01), rel=1e-12)


def square() -> SimplicialComplex:
    return trimesh(
        np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0]]), np.array([[0, 1, 2], [0, 2, 3]])
    )


def shell(thickness: float) -> Any:
    return lambda sc: AffineBodyShell().apply_to(sc, 1e8, 1000.0, thickness)


def rod(thickness: float) -> Any:
    return lambda sc: AffineBodyRod().apply_to(sc, 1e8, 1000.0, thickness)


def stick(length: float = 1.0, pieces: int = 2) -> SimplicialComplex:
    points = np.zeros((pieces + 1, 3))
    points[:, 0] = np.linspace(-length / 2, length / 2, pieces + 1)
    return linemesh(points, np.stack([np.arange(pieces), np.arange(1, pieces + 1)], axis=1))


def test_the_gap_of_thick_surfaces_is_counted_from_their_thickness():
    stage = Stage(d_hat=D_HAT)
    stage.material(0.0, 1e6)
    stage.add("lower", square(), body=shell(0.03), fixed=True)
    stage.add("upper", tip(), [(0.1, 0, 0.03 + GAP)])
    assert energy(stage) == pytest.approx(1e6 * barrier(GAP, thickness=0.03), rel=1e-9)


def test_shells_and_rods_come_to_rest_farther_apart_than_they_are_thick():
    """A shell on a shell, a rod across it, and another rod across that one, which only edges keep up."""
    stage = Stage(gravity=(0, 0, -10), dt=0.01)
    stage.ground()
    shells = stage.add("shells", square(), [(0, 0, 0.0125), (0, 0, 0.036)], body=shell(0.01))
    turned = rotation((0, 0, 1), np.pi / 2)
    rods = stage.add("rods", stick(), [pose((0, 0, 0.068)), pose((0, 0, 0.11), turned)], body=rod(0.02))

    def heights() -> np.ndarray:
        z = [np.sort(slot.geometry.transforms.values[:, 2, 3]) for slot in (shells, rods)]
        return np.concatenate([[0.0], *z])

    gaps = np.diff(np.array(stage.run(60, heights)), axis=1)
    thickness = np.array([0.01, 0.02, 0.03, 0.04])
    assert (gaps > thickness).all()
    # at rest within the range of 1 mm
    assert (gaps[-1] < thickness + 1e-3).all()


# ---- masks -----------------------------------------------------------------------------------------------------


def hinged_boxes(stage: Stage) -> None:
    """Two boxes, half a range apart, joined by a hinge, and a third one as near to the second that is not."""
    slot = stage.add("boxes", scaled(BOX, 0.2), [(0, 0, 0), (0.2 + GAP, 0, 0), (0.4 + 2 * GAP, 0, 0)])
    hinge = AffineBodyRevoluteJoint().create_geometry(
        [(0.1, -0.1, 0.1)], [(0.1, 0.1, 0.1)], [slot], [0], [slot], [1], [100.0]
    )
    stage.scene.objects.create("hinge").geometries.create(hinge)


@pytest.mark.parametrize(("neighbours", "expected"), [(1, {(0, 1), (1, 2)}), (0, {(1, 2)})])
def test_bodies_that_share_a_joint_touch_each_other_unless_they_are_masked(neighbours, expected):
    stage = Stage(d_hat=D_HAT, contact__joint_neighbours=neighbours)
    hinged_boxes(stage)
    probe = stage.probe()
    probe.energy(probe.Q)
    assert {tuple(sorted((a, b))) for _, a, b, *_ in probe.contacts()} == expected


def clamp() -> SimplicialComplex:
    """A body of two plates 0.3 m apart, joined at one side: a U."""
    x, z = [0.0, 1.0, 1.0, 0.2, 0.2, 1.0, 1.0, 0.0], [0.0, 0.0, 0.1, 0.1, 0.4, 0.4, 0.5, 0.5]
    n = len(x)
    points = np.array([[x[k], y, z[k]] for y in (0.0, 0.5) for k in range(n)])
    sides = [[k, n + k, n + (k + 1) % n, (k + 1) % n] for k in range(n)]
    caps = [[0, 1, 2, 3], [0, 3, 4, 7], [4, 5, 6, 7]]
    quads = sides + caps + [[n + k for k in cap[::-1]] for cap in caps]
    return trimesh(points, np.array(quads))


def flattened(probe: Probe, height: float) -> np.ndarray:
    Q = probe.Q.copy()
    Q[0, 3] *= height
    return Q


@pytest.mark.parametrize("flag", [0, 1])
def test_a_body_touches_itself_only_if_it_is_told_to(rng, flag):
    """Flattened until the plates of the U are within range; parts that are that near at rest stay out of it."""

    def allow(sc: SimplicialComplex) -> None:
        sc.meta["self_collision"] = flag

    stage = Stage(d_hat=D_HAT)
    stage.material(0.0, 1e6)
    stage.add("clamp", clamp(), applied=[allow])
    probe = stage.probe()
    assert probe.energy(probe.Q) == 0.0
    Q = flattened(probe, 0.03)
    Q[0, 1:] += 0.01 * rng.normal(size=(3, 3))
    g, H = probe.derivatives(Q)
    if not flag:
        assert probe.count == 0
        return
    assert probe.count > 0
    assert len({c[:4] for c in probe.contacts()}) == probe.count
    dQ = rng.normal(size=Q.shape)
    step = 1e-8
    slope = (probe.energy(Q + step * dQ) - probe.energy(Q - step * dQ)) / (2 * step)
    # a step of 1e-8 m against gaps of millimetres, and round-off of the energy over the step
    assert g @ dQ.reshape(-1) == pytest.approx(slope, rel=1e-6)
    values = np.linalg.eigvalsh(H)
    assert values[0] >= -1e-12 * values[-1]


def test_contact_that_is_switched_off_is_not_there():
    stage = Stage(gravity=(0, 0, -10), contact__enable=0)
    stage.ground()
    slot = stage.add("cube", scaled(BOX, 0.2), [(0, 0, 0.15)])
    for _ in range(20):
        stage.world.advance()
    stage.world.retrieve()
    # implicit Euler falls by g h² n(n + 1)/2
    assert slot.geometry.transforms.values[0, 2, 3] == pytest.approx(0.15 - 10 * 1e-4 * 210, rel=1e-9)


def test_friction_can_be_switched_off():
    def speed(friction: int) -> float:
        stage = Stage(gravity=(0, 0, -10), contact__friction__enable=friction)
        stage.ground()
        slot = stage.add("cube", scaled(BOX, 0.2), [(0, 0, 0.1005)], velocity=(1, 0, 0))
        stage.run(20)
        return float(slot.geometry.transforms.values[0, 0, 3] / 0.2)

    assert speed(0) == pytest.approx(1.0, abs=1e-3)  # velocity_tol
    assert speed(1) < 0.6
