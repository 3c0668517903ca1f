"""PyBullet: multibodies where joints form a tree, point-to-point constraints where they close loops.

Its interface tells 128 coordinates of a multibody at most, a hinge having one and a ball four. In scenes with more,
every body is one of its own and all joints are constraints: a point for a ball, both ends of the pin for a hinge.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.bench.engines.quaternion import xyzw
from dovetail.bench.engines.tree import Tree, loose, spanning_tree
from dovetail.bench.scene import GRAVITY, BenchScene
from dovetail.typing import Array

__all__ = ["Adapter"]

_COORDINATES = 128
_OF_JOINT = {"revolute": 1, "spherical": 4}


class Adapter:
    """Every tree of joints is a multibody, its root fixed or free."""

    def __init__(self, scene: BenchScene, substeps: int = 1) -> None:
        import pybullet

        self._p, self._scene, self._substeps = pybullet, scene, substeps
        self._client = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(0, 0, -GRAVITY)
        pybullet.setTimeStep(scene.dt / substeps)
        tree = spanning_tree(scene)
        if scene.joints is not None and _OF_JOINT[scene.joints.kind] * len(scene.joints.left) >= _COORDINATES:
            tree = loose(scene)
        self._at: list[tuple[int, int]] = [(-1, -1)] * scene.count  # multibody and link (−1: its base) of every body
        shapes = [self._shape(s) if scene.contact else -1 for s in range(len(scene.shapes))]
        children: dict[int, list[int]] = {}
        for b in tree.order:
            children.setdefault(int(tree.parent[b]), []).append(b)
        for b in tree.order:
            if self._at[b][0] < 0 and tree.parent[b] < 0:
                self._multibody(b, tree, children, shapes)
        for k in tree.loops:
            self._close(k)
        if scene.contact:
            plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE)
            ground = pybullet.createMultiBody(0, plane)
            pybullet.changeDynamics(ground, -1, lateralFriction=1.0)

    def _shape(self, s: int) -> int:
        p, shape = self._p, self._scene.shapes[s]
        if shape.box is not None:
            return int(p.createCollisionShape(p.GEOM_BOX, halfExtents=(0.5 * shape.box).tolist()))
        if len(shape.pieces) == 1:
            return int(p.createCollisionShape(p.GEOM_MESH, vertices=shape.vertices.tolist()))
        with tempfile.TemporaryDirectory() as folder:
            # several hulls in one shape come from a file with several groups
            path = Path(folder) / "pieces.obj"
            lines: list[str] = []
            count = 0
            for k, piece in enumerate(shape.pieces):
                lines.append(f"o piece{k}")
                lines += ["v " + " ".join(f"{x:.9g}" for x in shape.vertices[v]) for v in piece]
                # any faces that name all corners will do: the hull of every group is taken
                lines += [f"f {count + 1} {count + i} {count + i + 1}" for i in range(2, len(piece))]
                count += len(piece)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            return int(p.createCollisionShape(p.GEOM_MESH, fileName=str(path)))

    def _multibody(self, root: int, tree: Tree, children: dict[int, list[int]], shapes: list[int]) -> None:
        p, scene = self._p, self._scene
        members, todo = [], [root]
        while todo:
            body = todo.pop()
            members.append(body)
            todo += reversed(children.get(body, []))  # depth first: links are numbered so, whatever order is given
        jointed_root = tree.joint[root] >= 0  # hangs on the world by a joint: the base is the world itself
        links = members if jointed_root else members[1:]
        number = {body: k for k, body in enumerate(links)}
        lists: dict[str, list[Any]] = {
            name: []
            for name in (
                "linkMasses", "linkCollisionShapeIndices", "linkVisualShapeIndices", "linkPositions",
                "linkOrientations", "linkInertialFramePositions", "linkInertialFrameOrientations",
                "linkParentIndices", "linkJointTypes", "linkJointAxis",
            )
        }  # fmt: skip
        joints = scene.joints
        for body in links:
            assert joints is not None
            k, above = int(tree.joint[body]), int(tree.parent[body])
            T = scene.transform[body]
            # a link's frame is at its joint, with the axes of the body; its parent's frame is at the parent's joint
            parent_T = scene.transform[above] if above >= 0 else np.eye(4)
            origin = joints.point[tree.joint[above]] if above in number else parent_T[:3, 3]
            lists["linkMasses"].append(scene.mass[body])
            lists["linkCollisionShapeIndices"].append(shapes[scene.shape_of[body]])
            lists["linkVisualShapeIndices"].append(-1)
            lists["linkPositions"].append((parent_T[:3, :3].T @ (joints.point[k] - origin)).tolist())
            lists["linkOrientations"].append(xyzw(parent_T[:3, :3].T @ T[:3, :3]))
            lists["linkInertialFramePositions"].append((T[:3, :3].T @ (T[:3, 3] - joints.point[k])).tolist())
            lists["linkInertialFrameOrientations"].append([0, 0, 0, 1])
            lists["linkParentIndices"].append(number[above] + 1 if above in number else 0)
            lists["linkJointTypes"].append(p.JOINT_REVOLUTE if joints.kind == "revolute" else p.JOINT_SPHERICAL)
            lists["linkJointAxis"].append((T[:3, :3].T @ joints.axis).tolist())
        T = np.eye(4) if jointed_root else scene.transform[root]
        fixed = jointed_root or bool(scene.fixed[root])
        multibody = p.createMultiBody(
            baseMass=0.0 if fixed else scene.mass[root],
            baseCollisionShapeIndex=-1 if jointed_root else shapes[scene.shape_of[root]],
            basePosition=T[:3, 3].tolist(), baseOrientation=xyzw(T[:3, :3]), **lists,
        )  # fmt: skip
        if not jointed_root:
            self._at[root] = (multibody, -1)
        for body, k in number.items():
            self._at[body] = (multibody, k)
        for body in members:
            self._settle(body)

    def _settle(self, body: int) -> None:
        """No motors, no damping; inertia as it is; a friction whose products with the ground's 1 and each other fit."""
        p, scene = self._p, self._scene
        multibody, link = self._at[body]
        inertia = np.diag(scene.inertia[body]).tolist()
        p.changeDynamics(
            multibody, link, linearDamping=0.0, angularDamping=0.0, jointDamping=0.0,
            lateralFriction=float(np.sqrt(scene.friction)), rollingFriction=0.0, spinningFriction=0.0,
            **({} if scene.fixed[body] else {"localInertiaDiagonal": inertia}),
        )  # fmt: skip
        if link >= 0:
            assert scene.joints is not None
            if scene.joints.kind == "revolute":
                p.setJointMotorControl2(multibody, link, p.VELOCITY_CONTROL, force=0)
            else:
                p.setJointMotorControlMultiDof(
                    multibody, link, p.POSITION_CONTROL, targetPosition=[0, 0, 0, 1], positionGain=0, velocityGain=0,
                    force=[0, 0, 0],
                )  # fmt: skip

    def _close(self, k: int) -> None:
        p, joints = self._p, self._scene.joints
        assert joints is not None
        shift = joints.half * joints.axis
        ends = [joints.point[k]] if joints.kind == "spherical" else [joints.point[k] - shift, joints.point[k] + shift]
        for end in ends:
            left, at_left = self._place(int(joints.left[k]), end)
            right, at_right = self._place(int(joints.right[k]), end)
            # a free body comes first: the second may be the world
            p.createConstraint(*right, *left, p.JOINT_POINT2POINT, [0, 0, 0], at_right, at_left)

    def _place(self, body: int, point: Array) -> tuple[tuple[int, int], list[float]]:
        """Multibody and link of a body, −1 the world, and where a point is in its frame."""
        if body < 0:
            return (-1, -1), point.tolist()
        T = self._scene.transform[body]
        return self._at[body], (T[:3, :3].T @ (point - T[:3, 3])).tolist()

    def step(self) -> None:
        for _ in range(self._substeps):
            self._p.stepSimulation()

    def poses(self) -> Array:
        p = self._p
        out = np.empty((self._scene.count, 3, 4))
        for body, (multibody, link) in enumerate(self._at):
            if link < 0:
                place, turn = p.getBasePositionAndOrientation(multibody)
            else:
                place, turn = p.getLinkState(multibody, link, computeForwardKinematics=1)[:2]
            out[body, :, :3] = np.reshape(p.getMatrixFromQuaternion(turn), (3, 3))
            out[body, :, 3] = place
        return out
