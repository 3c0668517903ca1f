"""MJCF robots written for the tests, one per feature, beside MuJoCo."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import SceneError

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="MuJoCo reads MJCF; it is 64 MB")

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # where robots are compared with MuJoCo

LINK = '<inertial pos="0.1 0.02 -0.03" mass="2" fullinertia="0.03 0.04 0.05 0.001 -0.002 0.003"/>'
SHAPES = '<geom type="box" size="0.1 0.02 0.03" pos="0.1 0 0" rgba="0.2 0.4 0.6 1"/>'


def mjcf(body, more="", world=""):
    return f'<mujoco model="toy"><worldbody>{world}{body}</worldbody>{more}</mujoco>'


ARM = f"""
<body name="upper" pos="0 0 1" euler="10 20 30">
  <joint name="shoulder" axis="0 1 0.2" pos="0.01 0.02 0.03" range="-100 120" ref="15" damping="0.3" frictionloss="0.1"
    armature="0.07" stiffness="2" springref="25"/>{LINK}{SHAPES}
  <body name="fore" pos="0.3 0 0">
    <joint name="lift" type="slide" axis="1 0 1" range="-0.2 0.3" armature="0.5"/>{LINK}
    <body name="tool" pos="0.1 0 0.1" euler="0 45 0"><geom type="sphere" size="0.02" mass="0.3"/></body>
  </body>
</body>"""
SEVERAL = f"""
<body name="trunk" pos="0 0 1">
  <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
  <joint name="tilt" axis="0 1 0"/>
  {LINK}
  <body name="leg" pos="0 0.1 -0.1">
    <joint name="hip_x" axis="1 0 0"/><joint name="hip_z" axis="0 0 1" pos="0 0 0.02"/>
    <joint name="hip_y" axis="0 1 0"/>{LINK}
  </body>
</body>"""
BALL = f"""
<body name="a" pos="0 0 1" euler="10 20 30"><joint name="hinge" axis="0 1 0.2"/>{LINK}
  <body name="b" pos="0.3 0 0" euler="40 5 -20">
    <joint name="ball" type="ball" pos="0.01 0.02 0.03" stiffness="1.5" armature="0.03"
      damping="0.2" frictionloss="0.1" range="0 150" limited="true"/>{LINK}
    <body name="c" pos="0.1 0 0.1" euler="0 45 0"><joint name="slide" type="slide" axis="1 0 0"/>{LINK}</body>
  </body>
</body>"""
TURNED = '<keyframe><key name="home" qpos="0.2 0.9 0.1 0.2 0.3 0.05"/></keyframe>'
FREE = f"""
<body name="base" pos="0 0 2" euler="0 0 90"><freejoint/>{LINK}
  <body name="leg" pos="0.2 0 0"><joint name="knee" axis="0 1 0"/>{LINK}</body>
</body>"""
GRIPPER = f"""
<body name="one" pos="0 0 1"><joint name="lead" axis="0 0 1" range="-90 90" ref="10"/>{LINK}</body>
<body name="two" pos="1 0 1"><joint name="follow" type="slide" axis="0 0 1"/>{LINK}</body>
<body name="three" pos="2 0 1"><joint name="tied" axis="0 0 1"/>{LINK}</body>"""
LOOP = """
<body name="crank" pos="0 0 1"><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02"/>
  <body name="rod" pos="0 0 0.2"><joint name="b" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02"/></body>
</body>
<body name="rocker" pos="0.5 0 1"><joint name="c" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02"/></body>"""
ROPE = """<tendon><spatial name="rope" limited="true" range="0 1"><site site="s"/><site site="t"/></spatial></tendon>"""
COUPLED = """<equality><joint joint1="follow" joint2="lead" polycoef="0.1 0.5 0 0 0"/><tendon tendon1="t"/></equality>
<tendon><fixed name="t"><joint joint="tied" coef="2"/><joint joint="lead" coef="-1"/></fixed></tendon>"""
FILES = {
    "arm": mjcf(ARM),
    "several joints": mjcf(SEVERAL),
    "ball": mjcf(BALL, TURNED),
    "free": mjcf(FREE),
    "gripper": mjcf(GRIPPER, COUPLED),
}


@pytest.fixture
def write(tmp_path):
    def make(text):
        file = tmp_path / "robot.xml"
        file.write_text(text, encoding="utf-8")
        return file

    return make


def load(write, text, **options):
    sim = Sim(contact=False)
    return sim, sim.robot(write(text), **options)


def told(robot):
    return "\n".join(f"{finding.text} {finding.advice}" for finding in robot.findings)


@pytest.mark.parametrize("name", FILES)
def test_it_moves_and_weighs_as_in_mujoco(write, name):
    from robots_compared.comparing import AGREES, load, motions, oracle_of, statics

    file = write(FILES[name])
    _, robot = load(file, [])
    errors = statics(robot, oracle_of(robot, file), 4)
    if name in ("arm", "ball"):
        errors |= motions(file, [], lambda made: oracle_of(made, file))
    # bodies between the joints of another weigh a billionth of it each
    assert all(errors[key] <= bar for key, bar in AGREES.items() if key in errors), errors
    assert errors["frames"] < 1e-12


def test_joints_have_what_the_file_says(write):
    _, robot = load(write, FILES["arm"])
    hinge, slide = robot.joints["shoulder"], robot.joints["lift"]
    assert robot.names == ["shoulder", "lift"]
    assert hinge.limit == pytest.approx((math.radians(-100), math.radians(120)))
    assert (hinge.damping, hinge.friction, hinge.armature, hinge.spring) == (0.3, 0.1, 0.07, 2.0)
    assert hinge.rest == pytest.approx(math.radians(25))
    assert slide.armature == 0.5
    assert robot.q == pytest.approx([math.radians(15), 0.0])
    assert robot.mass == pytest.approx(4.3)


def test_a_ball_is_three_entries_of_q_in_the_order_of_the_file(write):
    _, robot = load(write, FILES["ball"])
    assert robot.names == ["hinge", "ball.rotation_x", "ball.rotation_y", "ball.rotation_z", "slide"]
    angle = 2.0 * math.acos(0.9 / math.sqrt(0.95))  # of the quaternion in `home`
    axis = np.array([0.1, 0.2, 0.3]) / math.sqrt(0.14)
    assert robot.q == pytest.approx([0.2, *(angle * axis), 0.05], abs=1e-12)
    assert robot.keyframes["home"] == pytest.approx(robot.q, abs=1e-12)
    ball = robot.joints["ball"]
    assert (ball.armature, ball.damping, ball.max_angle) == (0.03, 0.2, pytest.approx(math.radians(150)))
    assert [c.friction for c in ball.coordinates.values()] == [0.1] * 3
    with pytest.raises(SceneError, match=r"3 numbers .* of a length up to 2.618"):
        load(write, FILES["ball"], q={"ball": (0, 0, 3)})
    assert robot.joints["ball"].rotation == pytest.approx(angle * axis, abs=1e-12)
    robot.q = q = [0.1, 1.0, -0.5, 2.0, 0.0]
    assert robot.q == pytest.approx(q, abs=1e-12)
    assert load(write, FILES["ball"], q={"ball": q[1:4]})[1].q[1:4] == pytest.approx(q[1:4], abs=1e-12)
    robot.hold()
    robot.sim.step(20)
    assert robot.q == pytest.approx(q, abs=2e-3)  # drives without gains of their own give way to the weight


def test_bodies_between_joints_carry_loads_and_stops(write):
    sim, robot = load(
        write, mjcf(SEVERAL.replace('name="hip_y" axis', 'name="hip_y" range="-1 1" limited="true" axis'))
    )
    for name in ("x", "tilt", "hip_x", "hip_z"):
        robot.joints[name].drive.hold()
    sim.step(100)
    assert robot.joints["z"].distance == pytest.approx(-9.81 / 2, rel=1e-9)  # all falls together for 1 s
    robot.v = np.zeros(6)
    robot.joints["z"].drive.hold()
    sim.step(100)
    stop = robot.joints["hip_y"]
    assert stop.angle == pytest.approx(math.radians(1), abs=5e-3)  # the leg rests on its stop
    assert max(joint.gap for joint in robot.joints.values()) < 1e-9  # of the order of the trace of mass
    leg = robot.bodies["leg"]
    assert np.allclose(leg.transform[:3, :3].T @ leg.transform[:3, :3], np.eye(3), atol=1e-3)  # it is stiff


def test_motors_become_drives(write):
    body = "".join(
        f'<body name="{n}" pos="{k} 0 1"><joint name="{n}" axis="0 1 0"/>{LINK}</body>' for k, n in enumerate("pvmgo")
    )
    motors = """<actuator>
      <position joint="p" kp="50" kv="3" forcerange="-20 20" gear="2"/><velocity joint="v" kv="4"/>
      <motor joint="m" gear="10" ctrlrange="-1 0.5" ctrllimited="true"/>
      <general joint="g" gainprm="7" biastype="affine" biasprm="0 -7 -0.5"/>
      <general joint="o" gainprm="7" dyntype="integrator"/></actuator>"""
    _, robot = load(write, mjcf(body, motors))
    gains = {name: (joint.drive._resting, joint.drive.max_effort) for name, joint in robot.joints.items()}
    assert gains["p"] == ((200.0, 12.0), 40.0)
    assert gains["v"] == ((0.0, 4.0), math.inf)
    assert gains["m"][1] == 10.0
    assert gains["g"] == ((7.0, 0.5), math.inf)
    assert "dynamics of actuator '4' of joint 'o' are not honoured" in told(robot)
    assert not any(joint.drive.on for joint in robot.joints.values())


def test_a_loop_is_closed_exactly(write):
    more = '<equality><connect name="pin" body1="rod" body2="rocker" anchor="0.5 0 0"/></equality>'
    sim, robot = load(write, mjcf(LOOP, more))
    sim.step(50)
    tip = robot.bodies["rod"].point((0.5, 0, 0))
    assert np.linalg.norm(tip - robot.bodies["rocker"].point((0, 0, 0.2))) < 1e-9
    assert abs(robot.joints["a"].angle - robot.joints["c"].angle) < 1e-6  # it is a parallelogram
    assert abs(robot.joints["a"].velocity) < 10.0


def test_a_weld_that_is_open_is_told_and_one_that_is_closed_holds(write):
    two = "".join(f'<body name="{n}" pos="{x} 0 1"><freejoint/>{LINK}</body>' for n, x in (("a", 0), ("b", 0.3)))
    sim, robot = load(write, mjcf(two, '<equality><weld body1="a" body2="b"/></equality>'))
    before = np.linalg.inv(robot.bodies["a"].transform) @ robot.bodies["b"].transform
    sim.step(5)
    assert np.allclose(np.linalg.inv(robot.bodies["a"].transform) @ robot.bodies["b"].transform, before, atol=1e-9)
    apart = '<equality><weld name="w" body1="a" body2="b" relpose="0 0 1 1 0 0 0"/></equality>'
    assert "weld 'w' of 'a' and 'b' is open at the start" in told(load(write, mjcf(two, apart))[1])


def test_keyframes_are_postures_by_name(write):
    keys = '<keyframe><key name="home" qpos="0.3 0.1"/><key name="up" qpos="0.5 -0.1"/></keyframe>'
    _, robot = load(write, mjcf(ARM, keys))
    assert robot.q == pytest.approx([0.3, 0.1])
    assert robot.home == pytest.approx([0.3, 0.1])
    assert robot.keyframes["up"] == pytest.approx([0.5, -0.1])
    assert load(write, mjcf(ARM, keys), q="up")[1].q == pytest.approx([0.5, -0.1])
    with pytest.raises(SceneError, match="no keyframe 'down'; there are home, up"):
        load(write, mjcf(ARM, keys), q="down")


def test_a_free_base_is_placed_by_the_file_and_may_be_fixed(write):
    _, robot = load(write, FILES["free"], pos=(1, 0, 0))
    assert not robot.base.fixed
    assert robot.pos == pytest.approx([1, 0, 2])
    assert load(write, FILES["free"], fixed_base=True)[1].base.fixed


def test_masks_excluded_pairs_and_parents_do_not_touch(write):
    ball = '<geom type="sphere" size="0.05" contype="{}" conaffinity="{}"/>'
    chain = f"""<body name="a" pos="0 0 1"><joint axis="0 1 0"/><joint axis="1 0 0"/>{ball.format(1, 1)}
      <body name="b" pos="0.3 0 0"><joint axis="0 1 0"/><joint axis="1 0 0"/>{ball.format(1, 1)}
        <body name="c" pos="0.3 0 0"><joint axis="0 1 0"/>{ball.format(1, 1)}
          <body name="d" pos="0.3 0 0"><joint axis="0 1 0"/>{ball.format(2, 2)}</body></body></body></body>"""
    sim = Sim()
    robot = sim.robot(write(mjcf(chain, '<contact><exclude body1="a" body2="c"/></contact>')))
    apart = {frozenset(pair) for pair in robot.description.apart}
    assert frozenset("ab") in apart and frozenset("bc") in apart  # parents, through bodies between their joints
    assert frozenset("ac") in apart  # excluded
    assert frozenset("ad") in apart and frozenset("bd") in apart  # masks
    free = sim.robot(write(mjcf(chain.replace('"2"', '"1"'))), pos=(5, 0, 0))
    assert frozenset("ad") not in free.description.apart


def test_shapes_to_look_at_do_not_touch(write):
    body = f'<body pos="0 0 1"><joint/>{LINK}<geom type="box" size="1 1 1" contype="0" conaffinity="0"/>{SHAPES}</body>'
    _, robot = load(write, mjcf(body))
    (link,) = [link for link in robot.description.links.values() if link.inertia is not None]
    assert len(link.collisions) == 1 and len(link.visuals) == 2  # both are seen
    assert np.ptp(robot.bodies["body 1"].vertices, axis=0) == pytest.approx([0.2, 0.04, 0.06])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (mjcf('<body><joint name="a"/></body>'), "MuJoCo refuses it: .*mass and inertia of moving bodies"),
        (
            mjcf(ARM, ROPE, '<site name="s"/><site name="t" pos="1 0 0"/>'),
            "tendon 'rope' is a spatial tendon",
        ),
        (mjcf(ARM, '<actuator><muscle name="biceps" joint="shoulder"/></actuator>'), "actuator 'biceps' is a muscle"),
        (
            mjcf(GRIPPER, '<equality><joint joint1="follow" joint2="lead" polycoef="0 1 2 0 0"/></equality>'),
            "a polynomial .* of 'lead'; only linear ones are known",
        ),
    ],
)
def test_what_is_not_known_is_refused_by_name(write, text, match):
    with pytest.raises(SceneError, match=match):
        load(write, text)


SETTINGS = """<mujoco model="set">
  <compiler angle="radian" eulerseq="zyx" meshdir="meshes" inertiafromgeom="true" autolimits="true"/>
  <include file="classes.xml"/>
  <asset><mesh name="wedge" file="wedge.obj" scale="0.1 0.2 0.3"/><model name="hand" file="hand.xml"/></asset>
  <worldbody>
    <body name="a" childclass="link" pos="0 0 1" euler="0.3 0.2 0.1"><joint name="a" range="-1 1.5"/>
      <geom type="mesh" mesh="wedge"/>
      <inertial pos="0 0 0" mass="50" diaginertia="1 1 1"/>
      <frame pos="0.3 0 0" euler="0.1 0 0">
        <body name="b"><joint name="b" class="slow"/><geom pos="0.1 0 0"/></body></frame>
      <frame pos="0 0.4 0"><attach model="hand" body="palm" prefix="left_"/></frame>
    </body>
    <replicate count="2" offset="0.5 0 0" euler="0 0 0.3">
      <body name="f" pos="0 1 1" childclass="link"><joint name="r"/><geom/></body>
    </replicate>
  </worldbody>
</mujoco>"""
CLASSES = """<mujocoinclude><default><default class="link"><joint axis="0 1 0" damping="0.4" armature="0.02"/>
  <geom type="capsule" size="0.03 0.1" density="700"/><default class="slow"><joint damping="3"/></default></default>
</default></mujocoinclude>"""
HAND = """<mujoco><compiler angle="degree"/><worldbody><body name="palm">
  <joint name="spin" axis="0 0 1" range="-45 45"/><geom type="box" size="0.05 0.02 0.03"/></body>
  </worldbody></mujoco>"""
WEDGE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_settings_defaults_includes_copies_and_attached_models_are_those_of_mujoco(write, tmp_path):
    """Angles, eulerseq, meshdir, inertiafromgeom, autolimits; default, include, frame, replicate, attach."""
    from robots_compared.comparing import AGREES, load, oracle_of, statics

    (tmp_path / "meshes").mkdir()
    for name, text in (("classes.xml", CLASSES), ("hand.xml", HAND), ("meshes/wedge.obj", WEDGE)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    file = write(SETTINGS)
    _, robot = load(file, [])
    errors = statics(robot, oracle_of(robot, file), 3)
    assert all(errors[key] <= AGREES[key] for key in errors), errors
    assert robot.names == ["a", "b", "left_spin", "r0", "r1"]
    joints = robot.joints
    assert (joints["a"].limit, joints["left_spin"].limit[1]) == ((-1.0, 1.5), pytest.approx(math.pi / 4))
    assert [joints[name].damping for name in robot.names] == [0.4, 3.0, 0.0, 0.4, 0.4]
    assert robot.mass < 30.0  # of the geoms: the 50 kg do not count


def test_sites_are_frames(write):
    site = '<site name="grip" pos="0.2 0.1 0" euler="0 0 90"/><site name="fore"/><site/>'
    _, robot = load(write, mjcf(ARM.replace('<joint name="shoulder"', f'{site}<joint name="shoulder"')))
    upper = robot.frames["upper"].transform
    assert robot.frames["grip"].pos == pytest.approx((upper @ (0.2, 0.1, 0, 1))[:3], abs=1e-12)
    assert robot.frames["grip"].transform[:3, 0] == pytest.approx(upper[:3, 1], abs=1e-12)
    assert robot.frames["site fore"].pos == pytest.approx(robot.frames["upper"].pos, abs=1e-12)  # 'fore' is a body
    assert len(robot.frames) == 6 and len(robot.bodies) == 3  # with world and tool


def test_a_pair_touches_whatever_the_masks_say(write):
    ball = '<geom name="{0}" type="sphere" size="0.05" contype="0" conaffinity="0"/>'
    body = '<body name="{0}" pos="{1} 0 1"><joint/>' + ball + "</body>"
    three = "".join(body.format(name, x) for name, x in zip("abc", "012", strict=True))
    _, robot = load(write, mjcf(three, '<contact><pair geom1="a" geom2="b"/></contact>'))
    assert {frozenset("ac"), frozenset("bc")} <= robot.description.apart
    assert frozenset("ab") not in robot.description.apart


LEFT_OUT = {
    "sensors are not made; read bodies, joints and contacts: 'gauge'": (
        ARM, '<sensor><jointpos name="gauge" joint="shoulder"/></sensor>', ""),
    "cameras are left out: 'eye'": (ARM, "", '<camera name="eye"/>'),
    "lights are left out: 'sun'": (ARM, "", '<light name="sun"/>'),
    "custom numbers are left out: 'n'": (ARM, '<custom><numeric name="n" data="1"/></custom>', ""),
    "custom texts are left out: '0'": (ARM, '<custom><text name="t" data="x"/></custom>', ""),
    "textures are not shown: 'sky'": (
        ARM, '<asset><texture name="sky" type="skybox" builtin="flat" width="8" height="8"/></asset>', ""),
    "bodies that other programs move (mocap) stay where they are: 'aim'": (ARM, "", '<body name="aim" mocap="true"/>'),
    "geom 'floor' is a plane, which is not made sim.ground()": (
        ARM, "", '<geom name="floor" type="plane" size="1 1 1"/>'),
    "geom 'hill' is a height field, which is not made": (
        ARM, '<asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 0 1"/></asset>',
        '<geom name="hill" type="hfield" hfield="h"/>'),
    "the file's options are not taken over: timestep 0.001 s, gravity (0, 0, -1) m/s²": (
        ARM, '<option timestep="0.001" gravity="0 0 -1"/>', ""),
    "air or water of density 1.2 and viscosity 0": (ARM, '<option density="1.2"/>', ""),
    "gravcomp of 'upper' is not honoured": (ARM.replace('"upper"', '"upper" gravcomp="1"'), "", ""),
    "limits, stiffness, damping and friction of tendon 't' are not honoured": (
        ARM, '<tendon><fixed name="t" stiffness="3"><joint joint="shoulder" coef="1"/></fixed></tendon>', ""),
    "actuator 'both' drives no single hinge or slider": (
        GRIPPER, COUPLED.replace("<equality>", '<actuator><motor name="both" tendon="t"/></actuator><equality>'), ""),
    "actuator 'stick' drives no single hinge or slider": (
        ARM, '<actuator><adhesion name="stick" body="upper" ctrlrange="0 1"/></actuator>', ""),
    "equality 'off' is not active, and not made": (
        GRIPPER, '<equality><joint name="off" joint1="follow" joint2="lead" active="false"/></equality>', ""),
    "the nonlinear part of damping of joint 'curved'": (
        ARM.replace('name="lift"', 'name="curved" damping="1 2"'), "", ""),
}  # fmt: skip


@pytest.mark.parametrize("words", LEFT_OUT)
def test_what_is_left_out_is_told_by_name(write, words):
    _, robot = load(write, mjcf(*LEFT_OUT[words]))
    assert words in told(robot)


def test_spoiled_files_are_robots_or_refused():
    from robots_compared.mutations import fuzz

    count = 200  # `benchmarks/robots.py --fuzz 10000` for more
    seen = fuzz([(".xml", text.replace("><", ">\n<")) for text in FILES.values()], count)
    assert seen["robot"] + seen["refused"] == count
    assert min(seen.values()) > count / 20  # both happen
