"""What other engines say of a robot, in the coordinates q of the robot: MuJoCo and Pinocchio.

Joints that follow others, and balls, have rates ẋ = S(q) q̇ in the oracle: a ratio, or of a rotation vector w
J_r(w) ẇ, the spin in the frame of the child.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

G = np.array([0.0, 0.0, -9.81])
_STEP = 1e-6  # of differences along the motion


class NotComparedError(Exception):
    """An oracle has no such joint, or does not read the file."""


class Oracle:
    """A tree of rigid bodies; `robot` says what is called how, and nothing else."""

    mass: float
    given = 0
    """Links whose inertia is that of the robot, since the file's is impossible."""

    def __init__(self, robot: Any, size: int) -> None:
        self.robot, self.S_fixed = robot, np.zeros((size, len(robot.names)))
        self.shift = np.zeros(size)
        self.balls: list[tuple[int, int]] = []  # where its rates are, and its place in q
        self.places: dict[str, int] = {}  # of scalar joints, among the rates
        self.where = {}
        for k, name in enumerate(robot.names):
            self.where.setdefault(name.removesuffix(".rotation_x"), k)

    def tie(self, name: str, at: int) -> None:
        """Say that the rates of a joint of the file begin at `at`."""
        described = self.robot.description
        joint = described.joints.get(name)
        if joint is None:  # an axis of a joint with several
            self.S_fixed[at, self.where[name if name in self.where else name.rpartition(".")[0]]] = 1.0
            self.places[name] = at
        elif joint.kind == "ball":
            self.balls.append((at, self.where[name]))
        elif joint.is_scalar:
            leader, ratio, offset = described.leader(joint)
            self.S_fixed[at, self.where[leader.name]], self.shift[at] = ratio, offset
            self.places[name] = at
        else:
            raise NotComparedError(f"joint '{name}' is {joint.kind}")

    def S(self, q: np.ndarray) -> np.ndarray:
        out = self.S_fixed.copy()
        for at, k in self.balls:
            out[at : at + 3, k : k + 3] = right_jacobian(q[k : k + 3])
        return out

    def values(self, q: np.ndarray) -> np.ndarray:
        """Coordinates of scalar joints, by their places among the rates."""
        return self.S_fixed @ q + self.shift

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        S = self.S(q)
        return S.T @ self.inner(q, S @ np.zeros(len(q)))[0] @ S

    def bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Efforts against gravity and Coriolis forces."""
        return self.equations(q, v)[1]

    def equations(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M, bias and what springs and dampers exert: M q̈ + bias = passive + efforts."""
        S = self.S(q)
        M, bias, passive = self.inner(q, S @ v)
        if self.balls:
            turning = (self.S(q + _STEP * v) - self.S(q - _STEP * v)) @ v / (2.0 * _STEP)
            bias = bias + M @ turning
        return S.T @ M @ S, S.T @ bias, S.T @ passive

    def inner(self, q: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        raise NotImplementedError

    def frames(self, q: np.ndarray) -> dict[str, np.ndarray]:
        raise NotImplementedError


class MuJoCo(Oracle):
    """A compiled model; `joints` and `bodies` are numbers by the names of the robot."""

    def __init__(self, robot: Any, m: Any, joints: dict[str, int], bodies: dict[str, int], home: int = -1) -> None:
        import mujoco

        super().__init__(robot, m.nv)
        m.opt.gravity[:], m.opt.disableflags, m.opt.density, m.opt.viscosity = G, 0, 0.0, 0.0
        self.m, self.d, self.api, self._joints, self._bodies = m, mujoco.MjData(m), mujoco, joints, bodies
        if home >= 0:
            mujoco.mj_resetDataKeyframe(m, self.d, home)
        for name, j in joints.items():
            known = robot.description.joints.get(name)
            if known is None or known.kind != "floating":
                self.tie(name, int(m.jnt_dofadr[j]))
        self.mass = float(m.body_mass[1:].sum())

    def place(self, q: np.ndarray) -> None:
        x = self.values(q)
        for name, at in self.places.items():
            self.d.qpos[self.m.jnt_qposadr[self._joints[name]]] = x[at]
        for at, k in self.balls:
            j = int(self.m.dof_jntid[at])
            start = int(self.m.jnt_qposadr[j])
            angle = float(np.linalg.norm(q[k : k + 3]))
            half = math.sin(angle / 2) / angle if angle else 0.5
            self.d.qpos[start : start + 4] = math.cos(angle / 2), *(half * q[k : k + 3])

    def frames(self, q: np.ndarray) -> dict[str, np.ndarray]:
        self.place(q)
        self.api.mj_kinematics(self.m, self.d)
        found = {}
        for name, b in self._bodies.items():
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = self.d.xmat[b].reshape(3, 3), self.d.xpos[b]
            found[name] = T
        return found

    def inner(self, q: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        m, d = self.m, self.d
        self.place(q)
        d.qvel[:] = rates
        self.api.mj_fwdPosition(m, d)
        self.api.mj_fwdVelocity(m, d)
        M = np.zeros((m.nv, m.nv))
        self.api.mj_fullM(m, d, M) if not hasattr(d, "qM") else self.api.mj_fullM(m, M, d.qM)
        return M, d.qfrc_bias.copy(), d.qfrc_passive.copy()

    def seconds_a_step(self, q: np.ndarray, dt: float, steps: int) -> float:
        """The least time of a step, without contact or limits."""
        from time import perf_counter

        self.place(q)
        self.d.qvel[:] = 0.0
        flags = self.api.mjtDisableBit
        self.m.opt.disableflags = int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_LIMIT) | int(flags.mjDSBL_ACTUATION)
        self.m.opt.timestep = dt
        least = math.inf
        for _ in range(steps):
            begin = perf_counter()
            self.api.mj_step(self.m, self.d)
            least = min(least, perf_counter() - begin)
        self.m.opt.disableflags = 0
        return least


class Pinocchio(Oracle):
    """A URDF file, with rotors and dampers, which it does not read, from the robot."""

    def __init__(self, robot: Any, file: Path) -> None:
        import pinocchio

        try:
            self.m = m = pinocchio.buildModelFromUrdf(str(file))
        except ValueError:
            raise NotComparedError("Pinocchio does not read it") from None
        super().__init__(robot, m.nv)
        m.gravity.linear[:] = G
        self.api, self.data = pinocchio, m.createData()
        described = robot.description
        self.mass = pinocchio.computeTotalMass(m) + m.inertias[0].mass
        self._damping, self.given = np.zeros(m.nv), 0
        for k in range(1, m.njoints):
            self._give(k, described.joints[m.names[k]].child)
            at, joint = m.joints[k].idx_v, described.joints[m.names[k]]
            self.tie(m.names[k], at)
            self._damping[at], m.armature[at] = joint.damping, joint.armature

    def _give(self, k: int, link: str) -> None:
        """The inertia that a link got instead of its own, of which a finding tells; its fixed links are part of it."""
        body = self.robot.bodies[link]
        links = tuple(f"link '{name}'" for name, frame in self.robot.frames.items() if frame.body is body)
        told = [finding.text for finding in self.robot.findings if finding.text.startswith(links)]
        if any("inertia" in text or "mass" in text for text in told):
            centre = body.local(body.center)
            self.m.inertias[k] = self.api.Inertia(body.mass, centre, body.inertia)
            self.given += 1

    def _full(self, q: np.ndarray) -> np.ndarray:
        x, full = self.values(q), self.api.neutral(self.m)
        for k in range(1, self.m.njoints):
            joint = self.m.joints[k]
            at, angle = joint.idx_q, x[joint.idx_v]
            full[at : at + joint.nq] = [angle] if joint.nq == 1 else [math.cos(angle), math.sin(angle)]
        return full

    def frames(self, q: np.ndarray) -> dict[str, np.ndarray]:
        self.api.framesForwardKinematics(self.m, self.data, self._full(q))
        body = self.api.FrameType.BODY
        return {name: self.data.oMf[self.m.getFrameId(name, body)].homogeneous for name in self.robot.frames}

    def inner(self, q: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        full = self._full(q)
        M = np.triu(self.api.crba(self.m, self.data, full))
        bias = self.api.nonLinearEffects(self.m, self.data, full, rates)
        return M + np.triu(M, 1).T, bias.copy(), -self._damping * rates


def right_jacobian(w: np.ndarray) -> np.ndarray:
    """J_r of exp: the spin in the turned frame for the rate of a rotation vector w (3,)."""
    angle = float(np.linalg.norm(w))
    W = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    if angle < 1e-4:
        return np.eye(3) - W / 2 + W @ W / 6
    return np.eye(3) - (1 - math.cos(angle)) / angle**2 * W + (angle - math.sin(angle)) / angle**3 * W @ W


def rebuilt(robot: Any) -> MuJoCo:
    """The links and joints of a robot as a MuJoCo model: an oracle of what follows from them, and of time.

    A joint of several axes is as many hinges and sliders, one after the other.
    """
    import mujoco

    described, spec = robot.description, mujoco.MjSpec()
    kinds = {
        "revolute": mujoco.mjtJoint.mjJNT_HINGE, "prismatic": mujoco.mjtJoint.mjJNT_SLIDE,
        "ball": mujoco.mjtJoint.mjJNT_BALL, "floating": mujoco.mjtJoint.mjJNT_FREE,
    }  # fmt: skip
    base, made = robot.base.transform, {described.root: spec.worldbody}
    if not robot.base.fixed:
        made[described.root], base = spec.worldbody.add_body(name=f"/{described.root}"), np.eye(4)
        _put(made[described.root], robot.base.transform)
        _weigh(made[described.root], described.links[described.root].inertia)
    for joint in described.downwards():
        body = made[joint.child] = made[joint.parent].add_body(name=f"/{joint.child}")
        on_child, pose = np.eye(4), joint.pose
        on_child[:3, :3], on_child[:3, 3] = joint.frame, joint.anchor
        if joint.kind == "d6":
            pose = joint.on_parent @ np.linalg.inv(on_child)
        _put(body, base @ pose if joint.parent == described.root else pose)
        _weigh(body, described.links[joint.child].inertia)
        if joint.kind in ("planar", "distance") or (joint.flipped and joint.kind in ("d6", "ball")):
            raise NotComparedError(f"joint '{joint.name}' is {joint.kind}, from the other end")
        for axis in joint.axes if joint.kind == "d6" else ():
            kind = kinds["revolute" if axis.startswith("r") else "prismatic"]
            along = joint.frame[:, "xyz".index(axis[-1])]
            body.add_joint(name=f"{joint.name}.{axis}", type=kind, axis=along, pos=joint.anchor)
        if joint.kind == "floating":
            body.add_freejoint()
        elif joint.kind in kinds:
            body.add_joint(
                name=joint.name, type=kinds[joint.kind], axis=joint.axis, pos=joint.anchor, armature=joint.armature,
                ref=joint.reference,
            )  # fmt: skip
    spec.compiler.degree, spec.compiler.balanceinertia = 0, 1
    try:
        m = spec.compile()
    except ValueError as error:
        raise NotComparedError(f"MuJoCo refuses it: {' '.join(str(error).split())[:80]}") from None
    number = {m.joint(j).name: j for j in range(m.njnt) if m.joint(j).name}
    for name, j in number.items():
        if name in described.joints:
            joint = described.joints[name]
            m.dof_damping[m.jnt_dofadr[j]], m.jnt_stiffness[j] = joint.damping, joint.spring
    bodies = {name: m.body(f"/{name}").id for name, body in made.items() if body is not spec.worldbody}
    return MuJoCo(robot, m, number, bodies)


def _put(body: Any, T: np.ndarray) -> None:
    from dovetail.sim.given import quaternion_of

    body.pos, body.quat = T[:3, 3], quaternion_of(T[:3, :3])


def _weigh(body: Any, inertia: Any) -> None:
    body.explicitinertial = True
    body.mass, body.ipos = (1e-9, np.zeros(3)) if inertia is None else (inertia.mass, inertia.center)
    J = 1e-12 * np.eye(3) if inertia is None else inertia.tensor
    moments, axes = np.linalg.eigh((J + J.T) / 2)
    J = axes @ np.diag(np.maximum(moments, 1e-9 * max(body.mass, 1e-3))) @ axes.T  # as MuJoCo wants them
    body.fullinertia = J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]
