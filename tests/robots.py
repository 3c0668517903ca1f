"""Small robots written for the tests, and their rigid-body formulas in plain NumPy."""

from __future__ import annotations

import numpy as np

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="steel"><color rgba="0.2 0.4 0.6 1"/></material>
  <link name="world"/>
  <joint name="stand" type="fixed"><parent link="world"/><child link="base"/><origin xyz="0.1 0 0.2"/></joint>
  <link name="base">
    <inertial><origin xyz="0 0 0.05"/><mass value="4"/><inertia ixx="0.02" iyy="0.03" izz="0.04"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.1"/></geometry><material name="steel"/></visual>
    <collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0.02 0.2" rpy="0.3 -0.2 0.5"/><axis xyz="0 2 0"/>
    <limit lower="-1.5" upper="2" effort="50" velocity="3"/><dynamics damping="0.7" friction="0.2"/>
  </joint>
  <link name="upper">
    <inertial><origin xyz="0.2 0.01 -0.02" rpy="0.4 0.1 -0.3"/><mass value="2"/>
      <inertia ixx="0.01" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.0005" izz="0.035"/></inertial>
    <collision><origin xyz="0.2 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.03" length="0.3"/></geometry></collision>
  </link>
  <joint name="lift" type="prismatic">
    <parent link="upper"/><child link="fore"/><origin xyz="0.45 0 0.1" rpy="0 0 1"/><axis xyz="0.6 0 0.8"/>
    <limit lower="-0.1" upper="0.3" effort="200" velocity="1"/>
  </joint>
  <link name="fore">
    <inertial><origin xyz="0.05 0 0"/><mass value="1.5"/><inertia ixx="0.004" iyy="0.006" izz="0.005"/></inertial>
    <collision><geometry><box size="0.1 0.05 0.05"/></geometry></collision>
  </link>
  <joint name="wrist" type="continuous">
    <parent link="fore"/><child link="hand"/><origin xyz="0.2 0 0.05" rpy="-0.5 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <link name="hand">
    <inertial><origin xyz="0 0.03 0.04"/><mass value="0.8"/><inertia ixx="0.002" iyy="0.001" izz="0.0015"/></inertial>
    <collision><geometry><sphere radius="0.04"/></geometry></collision>
  </link>
  <joint name="tool_mount" type="fixed">
    <parent link="hand"/><child link="tool"/><origin xyz="0 0.1 0.02" rpy="0 0.7 0"/>
  </joint>
  <link name="tool">
    <inertial><origin xyz="0.01 0 0.03"/><mass value="0.3"/><inertia ixx="0.0002" iyy="0.0003" izz="0.0002"/></inertial>
  </link>
  <joint name="finger_joint" type="prismatic">
    <parent link="hand"/><child link="finger"/><origin xyz="0 0 0.15"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="20" velocity="0.2"/><mimic joint="wrist" multiplier="-0.05" offset="0.02"/>
  </joint>
  <link name="finger">
    <inertial><mass value="0.1"/><inertia ixx="0.0001" iyy="0.0001" izz="0.0001"/></inertial>
  </link>
</robot>
"""
"""An arm with a hinge, a slider, a hinge without limits, a finger that mimics it, and two fixed joints."""


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def pose(xyz=(0, 0, 0), rpy=(0, 0, 0)) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = turn((0, 0, 1), rpy[2]) @ turn((0, 1, 0), rpy[1]) @ turn((1, 0, 0), rpy[0])
    T[:3, 3] = xyz
    return T


def shifted(axis, q) -> np.ndarray:
    return pose(np.asarray(axis, float) * q)


def turned(axis, q) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = turn(axis, q)
    return T


def arm_frames(q: np.ndarray) -> dict[str, np.ndarray]:
    """Where the links of ARM are, for (shoulder, lift, wrist)."""
    base = pose((0.1, 0, 0.2))
    upper = base @ pose((0, 0.02, 0.2), (0.3, -0.2, 0.5)) @ turned((0, 1, 0), q[0])
    fore = upper @ pose((0.45, 0, 0.1), (0, 0, 1)) @ shifted((0.6, 0, 0.8), q[1])
    hand = fore @ pose((0.2, 0, 0.05), (-0.5, 0, 0)) @ turned((0, 0, 1), q[2])
    tool = hand @ pose((0, 0.1, 0.02), (0, 0.7, 0))
    finger = hand @ pose((0, 0, 0.15)) @ shifted((0, 1, 0), 0.02 - 0.05 * q[2])
    return {
        "world": np.eye(4),
        "base": base,
        "upper": upper,
        "fore": fore,
        "hand": hand,
        "tool": tool,
        "finger": finger,
    }


_R_UPPER = pose(rpy=(0.4, 0.1, -0.3))[:3, :3]
_I_UPPER = np.array([[0.01, 0.001, -0.002], [0.001, 0.03, 0.0005], [-0.002, 0.0005, 0.035]])
ARM_MASSES = {
    "upper": (2.0, (0.2, 0.01, -0.02), _R_UPPER @ _I_UPPER @ _R_UPPER.T),
    "fore": (1.5, (0.05, 0, 0), np.diag([0.004, 0.006, 0.005])),
    "hand": (0.8, (0, 0.03, 0.04), np.diag([0.002, 0.001, 0.0015])),
    "tool": (0.3, (0.01, 0, 0.03), np.diag([0.0002, 0.0003, 0.0002])),
    "finger": (0.1, (0, 0, 0), np.diag([0.0001] * 3)),
}
"""Mass, centre and inertia about it of the links that move, in their frames."""


def arm_dynamics(q: np.ndarray, gravity=(0, 0, -9.81)) -> tuple[np.ndarray, np.ndarray]:
    """M and the torques against gravity: Σ JᵥᵀmJᵥ + JωᵀIJω and −Σ Jᵥᵀ m g, J by central differences."""
    M, load, step = np.zeros((3, 3)), np.zeros(3), 1e-5
    here = arm_frames(q)
    ahead, behind = ([arm_frames(q + s * step * e) for e in np.eye(3)] for s in (1, -1))
    for name, (m, c, inertia) in ARM_MASSES.items():
        R = here[name][:3, :3]
        centre = np.append(c, 1.0)
        J_v = np.stack([(a[name] @ centre - b[name] @ centre)[:3] for a, b in zip(ahead, behind, strict=True)], 1) / (
            2 * step
        )
        spin = [(a[name] - b[name])[:3, :3] @ R.T / (2 * step) for a, b in zip(ahead, behind, strict=True)]
        J_w = np.stack([[W[2, 1], W[0, 2], W[1, 0]] for W in spin], 1)
        M += m * J_v.T @ J_v + J_w.T @ R @ inertia @ R.T @ J_w
        load -= m * J_v.T @ np.asarray(gravity, float)
    return M, load
