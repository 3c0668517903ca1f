"""Drake: MultibodyPlant in discrete time with the SAP solver; ball constraints where joints close loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.bench.engines.tree import spanning_tree
from dovetail.bench.scene import GRAVITY, BenchScene
from dovetail.typing import Array

__all__ = ["Adapter"]


class Adapter:
    """Point contact of convex pieces, with Drake's default stiffness."""

    def __init__(self, scene: BenchScene, substeps: int = 1) -> None:
        import pydrake.all as drake

        self._scene, self._drake, self._time = scene, drake, 0.0
        builder = drake.DiagramBuilder()
        self._plant, _ = drake.AddMultibodyPlant(
            drake.MultibodyPlantConfig(
                time_step=scene.dt / substeps, discrete_contact_approximation="sap", contact_model="point"
            ),
            builder,
        )
        self._plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -GRAVITY])
        self._bodies = [self._body(b) for b in range(scene.count)]
        self._join()
        if scene.contact:
            self._shapes()
        self._plant.Finalize()
        self._diagram = builder.Build()
        self._context = self._diagram.CreateDefaultContext()
        self._of_plant = self._plant.GetMyMutableContextFromRoot(self._context)
        for b in self._free:
            self._plant.SetFreeBodyPose(
                self._of_plant, self._bodies[b], drake.RigidTransform(_isometry(scene.transform[b]))
            )
        self._simulator = drake.Simulator(self._diagram, self._context)
        self._simulator.Initialize()

    def _body(self, b: int) -> Any:
        drake, scene = self._drake, self._scene
        moments = scene.inertia[b] / scene.mass[b]
        unit = drake.UnitInertia(*np.diag(moments), moments[0, 1], moments[0, 2], moments[1, 2])
        return self._plant.AddRigidBody(f"b{b}", drake.SpatialInertia(float(scene.mass[b]), np.zeros(3), unit))

    def _join(self) -> None:
        drake, scene, plant, joints = self._drake, self._scene, self._plant, self._scene.joints
        tree = spanning_tree(scene)
        self._free = [b for b in range(scene.count) if tree.joint[b] < 0 and not scene.fixed[b]]
        for b in range(scene.count):
            if scene.fixed[b]:
                plant.WeldFrames(
                    plant.world_frame(), self._bodies[b].body_frame(),
                    drake.RigidTransform(_isometry(scene.transform[b])),
                )  # fmt: skip
        for b in tree.order:
            k = int(tree.joint[b])
            if k < 0:
                continue
            assert joints is not None
            ends = []
            for body in (int(tree.parent[b]), b):
                T = scene.transform[body] if body >= 0 else np.eye(4)
                frame = self._bodies[body].body_frame() if body >= 0 else plant.world_frame()
                local = np.eye(4)
                local[:3, :3], local[:3, 3] = T[:3, :3].T, T[:3, :3].T @ (joints.point[k] - T[:3, 3])
                offset = drake.FixedOffsetFrame(f"j{k}b{body}", frame, drake.RigidTransform(_isometry(local)))
                ends.append(plant.AddFrame(offset))
            if joints.kind == "revolute":
                plant.AddJoint(drake.RevoluteJoint(f"j{k}", *ends, joints.axis))
            else:
                plant.AddJoint(drake.BallRpyJoint(f"j{k}", *ends))
        for k in tree.loops:
            assert joints is not None
            points = []
            for body in (int(joints.left[k]), int(joints.right[k])):
                T = scene.transform[body]
                points.append(T[:3, :3].T @ (joints.point[k] - T[:3, 3]))
            left, right = self._bodies[joints.left[k]], self._bodies[joints.right[k]]
            plant.AddBallConstraint(left, points[0], right, points[1])

    def _shapes(self) -> None:
        drake, scene, plant = self._drake, self._scene, self._plant
        friction = drake.CoulombFriction(scene.friction, scene.friction)
        nowhere = drake.RigidTransform()
        plant.RegisterCollisionGeometry(plant.world_body(), nowhere, drake.HalfSpace(), "ground", friction)
        for b in range(scene.count):
            shape = scene.shapes[scene.shape_of[b]]
            if shape.box is not None:
                plant.RegisterCollisionGeometry(self._bodies[b], nowhere, drake.Box(*shape.box), "box", friction)
                continue
            for k, piece in enumerate(shape.pieces):
                hull = drake.Convex(points=shape.vertices[piece].T, label=f"piece{k}")
                plant.RegisterCollisionGeometry(self._bodies[b], nowhere, hull, f"piece{k}", friction)

    def step(self) -> None:
        self._time += self._scene.dt
        self._simulator.AdvanceTo(self._time)

    def poses(self) -> Array:
        every = self._plant.get_body_poses_output_port().Eval(self._of_plant)
        return np.array([every[int(body.index())].GetAsMatrix34() for body in self._bodies])


def _isometry(T: Array) -> Array:
    """With a rotation that is one to round-off, as Drake wants it."""
    U, _, V = np.linalg.svd(T[:3, :3])
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = U @ V, T[:3, 3]
    return out
