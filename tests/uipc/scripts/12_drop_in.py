"""Section 12: joints, drives, limits and forces as a script for libuipc has them."""

import numpy as np
from shapes import box
from uipc import Animation, Engine, Logger, Scene, Timer, Transform, Vector3, World, builtin, view
from uipc.constitution import (
    AffineBodyConstitution,
    AffineBodyDrivingPrismaticJoint,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyPrismaticJointLimit,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodyRevoluteJointLimit,
    AffineBodySphericalJoint,
    ExternalArticulationConstraint,
    LinearMotor,
    RotatingMotor,
)
from uipc.geometry import GeometrySlot, SimplicialComplex, label_surface, linemesh, pointcloud
from uipc.unit import MPa

Timer.enable_all()
Logger.set_level(Logger.Level.Warn)
config = Scene.default_config()
config["dt"] = 0.01
config["gravity"] = [[0.0], [0.0], [0.0]]
config["contact"]["enable"] = False
scene = Scene(config)
abd = AffineBodyConstitution()


def body(x, y, fixed=False):
    mesh = box()
    abd.apply_to(mesh, 100 * MPa)
    view(mesh.transforms())[0] = Transform.Identity().translate([x, y, 0.0]).matrix()
    view(mesh.instances().find(builtin.is_fixed))[:] = int(fixed)
    slot, _ = scene.objects().create(f"body {x} {y}").geometries().create(mesh)
    return slot


def axis(x, y, direction):
    p = np.array([x, y, 0.0])
    mesh = linemesh(np.array([p, p + direction], dtype=np.float32), np.array([[0, 1]], dtype=np.int32))
    label_surface(mesh)
    return mesh


# a hinge in each form of the call; all carry a drive that turns them several times round
hinges = []
for k, form in enumerate(("pairs", "slots", "ids", "create", "local")):
    post, arm = body(0.0, k, fixed=True), body(0.3, k)
    joint = AffineBodyRevoluteJoint()
    if form == "pairs":  # before 0.0.2x
        mesh = axis(0.0, k, Vector3.UnitZ().ravel())
        joint.apply_to(mesh, [(post, arm)])
    elif form == "slots":
        mesh = axis(0.0, k, Vector3.UnitZ().ravel())
        joint.apply_to(mesh, l_geo_slots=[post], r_geo_slots=[arm], strength_ratio=100.0)
    elif form == "ids":
        mesh = axis(0.0, k, Vector3.UnitZ().ravel())
        joint.apply_to(mesh, [post], [0], [arm], [0], [100.0])
    elif form == "create":
        at = np.array([[0.0, k, 0.0]])
        mesh = joint.create_geometry(
            position0s=at,
            position1s=at + [[0, 0, 1]],
            l_geo_slots=[post],
            l_instance_ids=[0],
            r_geo_slots=[arm],
            r_instance_ids=[0],
            strength_ratios=[100.0],
        )
    else:
        o = np.zeros((1, 3))
        z = np.array([[0.0, 0.0, 1.0]])
        mesh = joint.create_geometry(o, z, o - [[0.3, 0, 0]], z - [[0.3, 0, 0]], [post], [0], [arm], [0], [100.0])
    drive = AffineBodyDrivingRevoluteJoint()
    if k % 2:
        drive.apply_to(mesh, strength_ratios=[100.0])
    else:
        drive.apply_to(mesh, 100.0)
    view(mesh.edges().find("driving/is_constrained"))[:] = 1
    owner = scene.objects().create(f"hinge {form}")
    hinge, _ = owner.geometries().create(mesh)
    hinges.append(hinge)

    def turn(info: Animation.UpdateInfo):
        geo_slot: GeometrySlot = info.geo_slots()[0]
        geo: SimplicialComplex = geo_slot.geometry()
        view(geo.edges().find("aim_angle"))[:] = 0.2 * info.frame()

    scene.animator().insert(owner, turn)

# a slider with a limit and a force, another with a drive
sliders = []
for k in range(2):
    rail, carriage = body(2.0, k, fixed=True), body(2.3, k)
    mesh = axis(2.0, k, Vector3.UnitX().ravel())
    AffineBodyPrismaticJoint().apply_to(mesh, [rail], [carriage], 100.0)
    if k == 0:
        AffineBodyPrismaticJointLimit().apply_to(mesh, lowers=[-0.1], uppers=[0.05], strengths=[10.0])
        AffineBodyPrismaticJointExternalForce().apply_to(mesh, forces=[20.0])
        view(mesh.edges().find("external_force/is_constrained"))[:] = 1
    else:
        AffineBodyDrivingPrismaticJoint().apply_to(mesh)
        view(mesh.edges().find("driving/is_constrained"))[:] = 1
        view(mesh.edges().find("aim_distance"))[:] = 0.1
    sliders.append(scene.objects().create(f"slider {k}").geometries().create(mesh)[0])

# a hinge with a limit and a torque; a ball and a weld
post, arm = body(4.0, 0.0, fixed=True), body(4.3, 0.0)
mesh = axis(4.0, 0.0, Vector3.UnitZ().ravel())
AffineBodyRevoluteJoint().apply_to(mesh, [post], [arm])
AffineBodyRevoluteJointLimit().apply_to(mesh, -0.3, 0.2, strength=10.0)
AffineBodyRevoluteJointExternalForce().apply_to(mesh, torque=5.0)
view(mesh.edges().find("external_torque/is_constrained"))[:] = 1
limited = scene.objects().create("limited").geometries().create(mesh)[0]
ball = pointcloud([[4.45, 0.0, 0.0]])
hung = body(4.6, 0.0)
AffineBodySphericalJoint().apply_to(ball, [arm], [hung], 100.0)
scene.objects().create("ball").geometries().create(ball)
weld = AffineBodyFixedJoint().create_geometry([hung], [0], [body(4.9, 0.0)], [0], [100.0])
scene.objects().create("weld").geometries().create(weld)

# motors
turning, gliding = box(), box()
abd.apply_to(turning, 1e8)
abd.apply_to(gliding, 1e8)
RotatingMotor().apply_to(turning, 100, motor_axis=Vector3.UnitZ(), motor_rot_vel=np.pi)
LinearMotor().apply_to(gliding, strength=100.0, motor_axis=Vector3.UnitX(), motor_vel=0.5)
for x, mesh, kind in ((6.0, turning, RotatingMotor), (8.0, gliding, LinearMotor)):
    view(mesh.transforms())[0] = Transform.Identity().translate([x, 0, 0]).matrix()
    view(mesh.instances().find(builtin.is_constrained))[:] = 1
    owner = scene.objects().create(kind.__name__)
    moved, _ = owner.geometries().create(mesh)
    scene.animator().insert(owner, lambda info, kind=kind: kind.animate(info.geo_slots()[0].geometry(), info.dt()))

# an articulation over two of the joints, without mass: it has no effect here
eac = ExternalArticulationConstraint().create_geometry([hinges[0], sliders[0]], [0, 0])
assert eac["joint"].find("delta_theta_tilde") and eac["joint_joint"].find("mass").size() == 4
articulation, _ = scene.objects().create("articulation").geometries().create(eac)

world = World(Engine("cuda", "./"))
world.init(scene)
while world.frame() < 40:
    world.advance()
    world.retrieve()

for hinge in hinges:  # 8 rad: more than a turn, and counted
    assert abs(hinge.geometry().edges().find("angle").view()[0] - 8.0) < 0.3, hinge
assert sliders[0].geometry().edges().find("distance").view()[0] > 0.02
assert abs(sliders[1].geometry().edges().find("distance").view()[0] - 0.1) < 1e-3
assert limited.geometry().edges().find("angle").view()[0] > 0.05
assert abs(moved.geometry().transforms().view()[0, 0, 3] - 8.2) < 0.02
assert articulation.geometry()["joint"].find("delta_theta").view()[0] != 0.0
print("section 12 done")
