"""Robots in a Sim: where their links are, what they weigh, how they move, what they touch."""

from __future__ import annotations

import numpy as np
import pytest
from robots import ARM, arm_dynamics, arm_frames

from dovetail import Sim
from dovetail.errors import SceneError


@pytest.fixture
def write(tmp_path):
    def write(text, name="robot.urdf"):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    return write


def still(**options):
    return Sim(dt=0.005, contact=False, **options)


def link(name, mass=1.0, shape="", inertia=0.01):
    inertial = f'<inertial><mass value="{mass}"/><inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}"/></inertial>'
    collision = f"<collision><geometry>{shape}</geometry></collision>" if shape else ""
    return f'<link name="{name}">{inertial if mass else ""}{collision}</link>'


def hinge(name, parent, child, xyz="0 0 0", axis="0 1 0", rest=""):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="continuous">{ends}<origin xyz="{xyz}"/><axis xyz="{axis}"/>{rest}</joint>'


def robot(*parts, name="r"):
    return f'<robot name="{name}">{"".join(parts)}</robot>'


@pytest.mark.parametrize("merge_fixed", [True, False])
def test_links_are_where_the_joints_put_them_and_weigh_what_the_file_says(write, merge_fixed):
    arm = still().robot(write(ARM), merge_fixed=merge_fixed)
    assert arm.names == ["shoulder", "lift", "wrist"]
    assert list(arm.bodies) == (["world", "upper", "fore", "hand", "finger"] if merge_fixed else
                                ["world", "base", "upper", "fore", "hand", "tool", "finger"])  # fmt: skip
    rng = np.random.default_rng(7)
    for q in [np.zeros(3), *rng.uniform([-1.5, -0.1, -3], [2, 0.3, 3], (3, 3))]:
        arm.q = q
        for name, T in arm_frames(q).items():
            assert np.abs(arm.frames[name].transform - T).max() < 1e-12  # round-off of products of matrices
        M, load = arm_dynamics(q)
        # central differences of 1e-5 know 1e-10 or so of a pose
        assert np.abs(arm.mass_matrix() - M).max() < 1e-8 * np.abs(M).max()
        assert np.abs(arm.bias() - load).max() < 1e-8 * np.abs(load).max()


def test_a_robot_swings_as_its_equations_of_motion_say(write):
    text = ARM.replace('damping="0.7" friction="0.2"', 'damping="0.7"')
    sim = Sim(dt=0.002, contact=False)
    arm = sim.robot(write(text), q={"shoulder": 0.4, "lift": 0.1})
    q, v, h = np.array([0.4, 0.1, 0.0]), np.zeros(3), 5e-3

    def acceleration(q, v):
        # M v̇ + Ṁ v − ½ ∂(vᵀMv)/∂q + load + damping = 0
        M, load = arm_dynamics(q)
        slopes = [(arm_dynamics(q + s)[0] - arm_dynamics(q - s)[0]) / 2e-4 for s in 1e-4 * np.eye(3)]
        coriolis = sum(dM * r for dM, r in zip(slopes, v, strict=True)) @ v - 0.5 * np.array(
            [v @ dM @ v for dM in slopes]
        )
        return np.linalg.solve(M, -load - coriolis - np.array([0.7, 0, 0]) * v)

    for _ in range(12):  # classical Runge–Kutta, which is within 1e-8 of what it finds with steps of 1 ms
        k1 = acceleration(q, v)
        k2 = acceleration(q + h / 2 * v, v + h / 2 * k1)
        k3 = acceleration(q + h / 2 * (v + h / 2 * k1), v + h / 2 * k2)
        k4 = acceleration(q + h * (v + h / 2 * k2), v + h * k3)
        q, v = q + h * v + h * h / 6 * (k1 + k2 + k3), v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    sim.step(30)
    assert np.abs(arm.q - q).max() < 2e-4  # second order at 2 ms; q changes by 0.03 to 0.1
    assert arm.joints["finger_joint"].distance == pytest.approx(0.02 - 0.05 * arm.q[2], abs=1e-9)


def test_drives_hold_a_posture_and_are_no_stronger_than_the_file_says(write):
    sim = still()
    arm = sim.robot(write(ARM))
    limits = [arm.joints[name].drive.max_effort for name in arm.names]
    assert limits == [50, 200, np.inf]
    assert [arm.joints[name].drive.max_velocity for name in arm.names] == [3, 1, np.inf]
    arm.target = [0.3, 0.05, -0.4]
    sim.step(200)
    assert np.abs(arm.q - [0.3, 0.05, -0.4]).max() < 1e-4  # e^(−20) of the way is left, and what gravity bends
    assert np.abs(arm.effort - arm.bias()).max() < 1e-4 * np.abs(arm.bias()).max()
    weak = Sim(dt=0.005, contact=False)
    fallen = weak.robot(write(ARM.replace('effort="50"', 'effort="5"')))
    fallen.target = [0.3, 0.05, -0.4]
    weak.step(100)
    assert fallen.joints["shoulder"].drive.effort == pytest.approx(-5.0)
    assert fallen.q[0] > 0.5


def test_a_firm_drive_at_its_strongest_takes_few_iterations(write):
    sim = still()
    arm = sim.robot(write(ARM))
    for name in arm.names:
        drive = arm.joints[name].drive
        drive.on = True
        drive.stiffness, drive.damping = 100 * drive.stiffness, 100 * drive.damping  # 1e4 times the inertia in a step
    arm.target = [0.3, 0.05, -0.4]
    reports = []
    for _ in range(40):
        sim.step()
        reports.append(sim.world.report)
    assert all(report.converged for report in reports)
    # a kink that Newton leaps over took 280 iterations and 2,100 halvings a step
    assert sum(report.iterations for report in reports) < 20 * 40
    assert sum(report.halvings for report in reports) < 40


def test_what_the_file_says_of_joints_is_on_them(write):
    arm = still().robot(write(ARM))
    shoulder = arm.joints["shoulder"]
    assert (shoulder.limit, shoulder.damping, shoulder.friction) == ((-1.5, 2.0), 0.7, 0.2)
    assert arm.joints["wrist"].limit is None and np.isinf(arm.limits[2]).all()
    assert np.allclose(arm.bodies["world"].color, (0.2, 0.4, 0.6))
    assert arm.mass == pytest.approx(4 + 2 + 1.5 + 0.8 + 0.3 + 0.1)


def test_a_joint_that_zero_is_beyond_starts_within_its_limits_and_q_is_the_file_s(write):
    text = robot(link("a"), link("b"), hinge("j", "a", "b", rest='<limit lower="0.5" upper="1.5"/>'))
    text = text.replace("continuous", "revolute")
    arm = still().robot(write(text))
    assert arm.q == pytest.approx([0.51]) and arm.findings[0].text.startswith("joint 'j' starts at 0.51")
    assert np.allclose(arm.frames["b"].transform[:3, 0], [np.cos(0.51), 0, -np.sin(0.51)])
    assert still().robot(write(text), q={"j": 1.2}).q == pytest.approx([1.2])
    with pytest.raises(SceneError, match=r"q\['j'\] = 3.0; give a number from 0.5 to 1.5"):
        still().robot(write(text), q={"j": 3.0})
    with pytest.raises(SceneError, match="q has 'k', which is no free hinge"):
        still().robot(write(text), q={"k": 3.0})


def test_a_free_base_falls_and_can_be_put_elsewhere_with_all_that_it_carries(write):
    text = robot(link("a"), link("b"), hinge("j", "a", "b", "0.3 0 0"))
    sim = still()
    arm = sim.robot(write(text), fixed_base=False, pos=(0, 0, 2))
    arm.v = [1.5]
    assert np.abs(arm.base.velocity).max() < 1e-14  # the joint's rate is the child's
    sim.step(40)
    centre = (arm.bodies["a"].pos + arm.bodies["b"].pos) / 2
    assert centre[2] == pytest.approx(2 - 0.5 * 9.81 * 0.2**2, abs=1e-6)
    q, v, speed = arm.q, arm.v, np.linalg.norm(arm.bodies["b"].velocity)
    arm.pos, arm.rot = (1, 2, 3), (1, 1, 0, 0)
    assert np.allclose(arm.pos, (1, 2, 3)) and np.allclose(arm.rot, np.array([1, 1, 0, 0]) / np.sqrt(2))
    assert np.allclose(arm.q, q) and np.allclose(arm.v, v)
    assert np.linalg.norm(arm.bodies["b"].velocity) == pytest.approx(speed)
    with pytest.raises(SceneError, match="its base is fixed"):
        still().robot(write(text)).pos = (0, 0, 1)


def test_with_its_base_free_the_mass_matrix_is_that_of_joints_with_the_base_at_rest(write):
    text = ARM.replace('<link name="world"/>', "").replace('name="stand"', 'name="unused"')
    text = text.replace('<parent link="world"/><child link="base"/>', '<parent link="base"/><child link="plate"/>')
    text = text.replace('<link name="base">', '<link name="plate"/><link name="base">')
    arm = still().robot(write(text), fixed_base=False)
    q = np.array([0.4, 0.1, -0.8])
    arm.q = q
    M, load = arm_dynamics(q)
    assert np.abs(arm.mass_matrix() - M).max() < 1e-8 * np.abs(M).max()
    assert np.abs(arm.bias() - load).max() < 1e-8 * np.abs(load).max()


def test_inverse_kinematics_and_jacobians_are_of_frames_too(write):
    arm = still().robot(write(ARM))
    wanted = np.array([0.5, 0.15, -0.6])
    place = arm_frames(wanted)["tool"][:3, 3]
    arm.q = arm.inverse_kinematics(arm.frames["tool"], place)
    assert np.abs(arm.frames["tool"].pos - place).max() < 1e-6
    J = arm.jacobian(arm.frames["tool"])
    q, step = arm.q, 1e-6
    for k, e in enumerate(np.eye(3)):
        ahead, behind = (arm_frames(q + s * step * e)["tool"] for s in (1, -1))
        assert np.allclose(J[:3, k], (ahead - behind)[:3, 3] / (2 * step), atol=1e-8)


def test_a_robot_can_be_there_twice(write):
    sim = still()
    one, two = sim.robot(write(ARM)), sim.robot(write(ARM), pos=(0, 2, 0))
    assert (one.name, two.name) == ("arm", "arm 2") and sim["arm 2/upper"] is two.bodies["upper"]
    one.q = [0.3, 0, 0]
    assert two.q == pytest.approx([0, 0, 0], abs=1e-12)
    assert np.allclose(two.frames["tool"].pos, arm_frames(np.zeros(3))["tool"][:3, 3] + (0, 2, 0))


def test_what_is_alike_is_prepared_for_contact_once(write):
    """Links with the same shapes, and robots of the same file; those that are turned are others."""
    two = '<origin xyz="{} 0 0"/><geometry><box size="0.1 0.1 0.1"/></geometry></collision><collision>'
    links = [
        link(name, shape='<box size="0.1 0.1 0.1"/>').replace("<collision>", f"<collision>{two.format(x)}")
        for name, x in (("a", 0.2), ("b", 0.2), ("c", -0.2))
    ]
    file = write(robot(*links, hinge("ab", "a", "b", "0 1 0"), hinge("bc", "b", "c", "0 1 0")))
    sim = Sim()
    for k in range(3):
        sim.robot(file, pos=(0, 0, 2.0 * k))
    assert len({id(shape) for shape in sim.world._simulation.contact.scene.shapes}) == 2


def test_a_wrong_option_is_refused_in_the_words_of_sim(write):
    with pytest.raises(SceneError, match=r"^Sim\.robot: fixed_base = 'no'; give True or False"):
        still().robot(write(ARM), fixed_base="no")


def test_a_robot_of_many_joints_tells_the_first_of_them(write):
    chain = robot(
        *(link(f"l{k}") for k in range(13)), *(hinge(f"j{k}", f"l{k}", f"l{k + 1}", "1 0 0") for k in range(12))
    )
    assert repr(still().robot(write(chain))).endswith(
        "13 bodies, 12 joints, q: j0, j1, j2, j3, j4, j5, j6, j7 and 4 more>"
    )


def test_links_that_overlap_at_the_start_pass_through_each_other_and_are_told(write):
    ball = '<sphere radius="0.1"/>'
    parts = [
        link("a", shape=ball),
        link("b", shape=ball),
        link("c", shape=ball),
        link("d", shape='<sphere radius="0.02"/>'),
    ]
    joints = [hinge("ab", "a", "b", "0.15 0 0"), hinge("bc", "b", "c", "0 0.05 0"), hinge("cd", "b", "d", "-0.15 0 0")]
    sim = Sim(dt=0.01)
    chain = sim.robot(write(robot(*parts, *joints)))
    told = [finding.text for finding in chain.findings]
    assert told == ["link 'a' overlaps 'c', 'd' at the start"]  # 'd' is inside of 'a'; 'b' is a neighbour of both
    sim.step(2)
    with pytest.raises(SceneError, match=r"intersect|touch|near"):
        apart = Sim(dt=0.01)
        apart.robot(write(robot(*parts, *joints)))
        apart.sphere(0.1, pos=(0, 0, 0.1))  # what is not the robot's own is not masked
        apart.step()


@pytest.mark.parametrize("collision", ["hull", "mesh", "boxes"])
def test_meshes_touch_as_they_are_as_hulls_or_as_boxes(write, tmp_path, collision):
    import trimesh

    tent = trimesh.creation.box((0.2, 0.2, 0.2))
    tent.vertices[tent.vertices[:, 2] > 0] *= (0.1, 1, 1)
    tent.export(tmp_path / "tent.stl")
    mesh = '<mesh filename="tent.stl" scale="1 2 -1"/>'
    sim = Sim(dt=0.01)
    body = sim.robot(write(robot(link("a", shape=mesh))), collision=collision, pos=(0, 0, 1)).base
    corners = body.vertices - (0, 0, 1)
    assert np.allclose(np.ptp(corners, axis=0), (0.2, 0.4, 0.2))
    wide_above = np.ptp(corners[corners[:, 2] > 0.05, 0])  # turned over by the negative scale
    assert wide_above == pytest.approx(0.2) and np.isclose(np.ptp(corners[corners[:, 2] < 0, 0]), 0.02) == (
        collision != "boxes"
    )
    triangles = body.slot.geometry.triangles.topo.values
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    assert np.einsum("ki,ki->", a, np.cross(b, c)) > 0  # the surface is outward
    ball = sim.sphere(0.05, pos=(0, 0, 1.152))
    sim.step(60)
    assert ball.pos[2] == pytest.approx(1.15, abs=2e-3)  # it rests on the upper side


def test_a_hull_with_many_corners_has_fewer_and_tells_what_it_leaves_out(write, tmp_path):
    import trimesh

    trimesh.creation.icosphere(4, 0.1).export(tmp_path / "ball.ply")
    made = Sim(dt=0.01).robot(write(robot(link("a", shape='<mesh filename="ball.ply"/>'))))
    assert 80 <= len(made.base.vertices) <= 140
    (told,) = made.findings
    assert "within the file's meshes by" in told.text and "ball.ply" in told.text


@pytest.mark.parametrize(
    ("shape", "height"), [('<sphere radius="0.1"/>', 0.1), ('<capsule radius="0.1" length="0.02"/>', 0.11)]
)
def test_a_single_ball_or_capsule_is_round_and_stands_on_its_radius(write, shape, height):
    sim = Sim(dt=0.01)
    sim.ground()
    foot = sim.robot(write(robot(link("a", shape=shape))), fixed_base=False, pos=(0, 0, height + 0.001))
    sim.step(60)
    assert foot.pos[2] == pytest.approx(height, abs=1e-3)  # within d_hat; a polyhedron of it would stand lower
    assert foot.q.size == 0


def test_without_collision_nothing_touches_it(write):
    sim = Sim(dt=0.01)
    sim.ground()
    ghost = sim.robot(write(robot(link("a", shape='<sphere radius="0.1"/>'))), fixed_base=False, collision=None)
    sim.step(20)
    assert ghost.pos[2] < -0.1


def test_links_without_mass_belong_to_what_carries_them_or_are_told(write):
    text = robot(link("a"), link("b", 0), link("c"), hinge("ab", "a", "b"), hinge("bc", "b", "c", axis="1 0 0"))
    made = still().robot(write(text))
    assert "link 'b' (line 1) moves and has no mass; it was given 0.0001 kg" in made.findings[0].text
    with pytest.raises(SceneError, match=r"link 'a' .* can move freely and has no mass"):
        still().robot(write(robot(link("a", 0))), fixed_base=False)


def test_inertia_that_no_body_has_is_changed_as_little_as_possible_and_told(write):
    text = robot(link("a")).replace('iyy="0.01"', 'iyy="0.05"')
    made = still().robot(write(text))
    assert "(0.01, 0.01, 0.05) kg·m², which no body with extent" in made.findings[0].text
    moments = np.linalg.eigvalsh(made.base.inertia)
    assert moments[0] + moments[1] > moments[2] > 0.02
    whole = (
        robot(link("a"), link("b"), hinge("j", "a", "b"))
        .replace("continuous", "fixed")
        .replace('iyy="0.01"', 'iyy="0.015"', 1)
    )
    assert not still().robot(write(whole)).findings  # what is possible together is left alone
    nothing = still().robot(write(robot(link("a", inertia=0))))
    assert "has a mass of 1 kg and no inertia" in nothing.findings[0].text


def test_wrong_options_are_refused_by_name(write):
    with pytest.raises(SceneError, match="collision = 'sponge'; give one of hull, mesh, boxes, or None"):
        still().robot(write(ARM), collision="sponge")
    with pytest.raises(SceneError, match="there is no file"):
        still().robot("nowhere.urdf")
    with pytest.raises(SceneError, match=r"ends in '.txt'; robots are read from .urdf"):
        still().robot(write(ARM, "arm.txt"))


def test_planar_and_floating_joints_leave_free_what_they_should(write):
    """On a plane across the axis, turning about it; and no joint at all: what it would carry falls."""
    alone = ARM.replace('<mimic joint="wrist" multiplier="-0.05" offset="0.02"/>', "")
    sim = Sim(contact=False)
    robot = sim.robot(write(alone.replace('name="wrist" type="continuous"', 'name="wrist" type="planar"')))
    assert robot.names[2:5] == ["wrist.distance_n", "wrist.distance_b", "wrist.angle"]
    start, q = np.linalg.inv(robot.frames["fore"].transform) @ robot.frames["hand"].transform, robot.q
    q[2:5] = 0.1, -0.2, 0.4
    robot.q = q
    moved = np.linalg.inv(start) @ np.linalg.inv(robot.frames["fore"].transform) @ robot.frames["hand"].transform
    assert moved[2] == pytest.approx([0, 0, 1, 0], abs=1e-9)  # in the plane, z being the axis
    assert np.linalg.norm(moved[:2, 3]) == pytest.approx(np.hypot(0.1, 0.2), abs=1e-9)
    assert np.arctan2(moved[1, 0], moved[0, 0]) == pytest.approx(0.4, abs=1e-9)
    sim = Sim(contact=False)
    robot = sim.robot(write(alone.replace('name="wrist" type="continuous"', 'name="wrist" type="floating"')))
    assert "wrist" not in robot.joints and robot.names == ["shoulder", "lift", "finger_joint"]
    robot.joints["finger_joint"].drive.hold()
    before, parts = robot.frames["hand"].pos, [robot.bodies[name] for name in ("hand", "finger")]
    sim.step(10)
    centre = sum(body.mass * body.velocity for body in parts) / sum(body.mass for body in parts)
    assert centre[2] == pytest.approx(-0.981, rel=1e-6) and robot.frames["hand"].pos[2] < before[2]


DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>
<unit meter="0.01"/><up_axis>Y_UP</up_axis></asset><library_geometries><geometry id="g"><mesh><source id="p">
<float_array id="f" count="12">0 0 0  10 0 0  0 20 0  0 0 30</float_array><technique_common>
<accessor source="#f" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source><vertices id="v"><input semantic="POSITION"
source="#p"/></vertices><triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries><library_visual_scenes>
<visual_scene id="s"><node><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def test_a_dae_is_in_its_unit_and_its_axes_stay(write, tmp_path):
    """Centimetres, times the scale of the URDF; that y is up in it is left alone, as ROS does."""
    pytest.importorskip("collada")
    (tmp_path / "tetra.dae").write_text(DAE)
    shape = '<mesh filename="tetra.dae" scale="1 1 2"/>'
    made = Sim(contact=False).robot(write(robot(link("a", shape=shape))))
    assert np.ptp(made.base.vertices, axis=0) == pytest.approx([0.1, 0.2, 0.6], rel=1e-6)
