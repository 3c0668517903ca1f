"""MuJoCo: a tree of bodies where joints form one, `connect` constraints where they close loops, convex meshes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.bench.engines.tree import Tree, spanning_tree
from dovetail.bench.scene import DENSITY, GRAVITY, BenchScene
from dovetail.typing import Array

__all__ = ["Adapter"]


class Adapter:
    """Bodies that no joint holds are free; neighbours on a joint do not collide."""

    def __init__(self, scene: BenchScene, substeps: int = 1) -> None:
        import mujoco

        self._mujoco = mujoco
        self._substeps = substeps
        spec = mujoco.MjSpec()
        spec.option.timestep = scene.dt / substeps
        spec.option.gravity = [0.0, 0.0, -GRAVITY]
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        # a state that has blown up is to be seen, not replaced by the first one
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        spec.memory = 2**32 - 1 if scene.contact else -1
        self._meshes(spec, scene)
        tree = spanning_tree(scene)
        bodies: dict[int, Any] = {}
        for b in tree.order:
            self._body(spec, scene, b, tree, bodies)
        joints = scene.joints
        for k in tree.loops:
            assert joints is not None
            left, right = int(joints.left[k]), int(joints.right[k])
            T = scene.transform[left]
            equality = spec.add_equality()
            equality.type = mujoco.mjtEq.mjEQ_CONNECT
            equality.objtype = mujoco.mjtObj.mjOBJ_BODY
            equality.name1, equality.name2 = f"b{left}", f"b{right}"
            equality.data[:3] = T[:3, :3].T @ (joints.point[k] - T[:3, 3])
        if scene.contact:
            ground = spec.worldbody.add_geom()
            ground.type = mujoco.mjtGeom.mjGEOM_PLANE
            ground.size = [0.0, 0.0, 1.0]
            ground.friction[0] = scene.friction
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._ids = np.array([self._model.body(f"b{b}").id for b in range(scene.count)])

    def _meshes(self, spec: Any, scene: BenchScene) -> None:
        if not scene.contact:
            return
        for s, shape in enumerate(scene.shapes):
            for k, piece in enumerate(shape.pieces if shape.box is None else ()):
                mesh = spec.add_mesh()
                mesh.name = f"s{s}p{k}"
                mesh.uservert = shape.vertices[piece].reshape(-1).tolist()

    def _body(self, spec: Any, scene: BenchScene, b: int, tree: Tree, bodies: dict[int, Any]) -> None:
        mujoco, joints = self._mujoco, scene.joints
        above = int(tree.parent[b])
        owner = bodies[above] if above >= 0 else spec.worldbody
        T = scene.transform[b]
        base = scene.transform[above] if above >= 0 else np.eye(4)
        local = np.linalg.inv(base) @ T
        body = owner.add_body()
        bodies[b] = body
        body.name = f"b{b}"
        body.pos = local[:3, 3]
        body.quat = _quaternion(mujoco, local[:3, :3])
        shape = scene.shapes[scene.shape_of[b]]
        inertia = shape.inertia
        body.mass, body.explicitinertial = shape.mass, True
        body.ipos = [0.0, 0.0, 0.0]
        body.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        if not scene.fixed[b]:
            if joints is not None and tree.joint[b] >= 0:
                joint = body.add_joint()
                k = int(tree.joint[b])
                ball = joints.kind == "spherical"
                joint.type = mujoco.mjtJoint.mjJNT_BALL if ball else mujoco.mjtJoint.mjJNT_HINGE
                joint.pos = T[:3, :3].T @ (joints.point[k] - T[:3, 3])
                joint.axis = T[:3, :3].T @ joints.axis
            else:
                body.add_freejoint()
        if scene.contact:
            self._geoms(scene, body, int(scene.shape_of[b]))

    def _geoms(self, scene: BenchScene, body: Any, s: int) -> None:
        mujoco, shape = self._mujoco, scene.shapes[s]
        for k in range(len(shape.pieces)):
            geom = body.add_geom()
            geom.friction[0] = scene.friction
            geom.density = DENSITY
            if shape.box is not None:
                geom.type = mujoco.mjtGeom.mjGEOM_BOX
                geom.size = 0.5 * shape.box
            else:
                geom.type = mujoco.mjtGeom.mjGEOM_MESH
                geom.meshname = f"s{s}p{k}"

    def step(self) -> None:
        for _ in range(self._substeps):
            self._mujoco.mj_step(self._model, self._data)

    def poses(self) -> Array:
        self._mujoco.mj_kinematics(self._model, self._data)
        R = self._data.xmat[self._ids].reshape(-1, 3, 3)
        return np.concatenate([R, self._data.xpos[self._ids][:, :, None]], axis=2)


def _quaternion(mujoco: Any, R: Array) -> Array:
    out = np.empty(4)
    mujoco.mju_mat2Quat(out, np.ascontiguousarray(R).reshape(-1))
    return out
