"""Exact joints that say the same thing twice, or contradict each other.

In a tree of bodies joints are independent. Around a loop a combination z of rows may vanish for all motions, zᵀJ = 0:
then the rows hold something more than once, and their multipliers are not unique. As linear rows C = J Q keep the value
zᵀC for ever, a combination with zᵀC ≠ 0 can never be closed: the joints contradict each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.solver.joint.exact import ExactJoints
from dovetail.solver.joint.loops import loops
from dovetail.typing import Array, Flags, Indices

__all__ = ["Redundancy", "redundancies"]

_DEPENDENT = 1e-9  # singular value of unit rows below which they depend on each other; rows carry 1e-16
_INVOLVED = 1e-6  # share of a combination that a joint has at least to be named
_APART = 1e-9  # [m, –] an opening that cannot be closed
_ROWS = 1500  # loops with more scalar rows are not looked at: a dense decomposition of them takes seconds


@dataclass(frozen=True)
class Redundancy:
    """Joints around a loop that hold `surplus` motions more than once; `open` [m, –] is what can never be closed."""

    joints: tuple[int, ...]
    surplus: int
    open: float


@dataclass
class _Equations:
    """Scalar rows of a loop: which joint each belongs to, its gradient over the free bodies, its value, if linear.

    Rows of J are of length one; `scale` is what C has to be multiplied with to go with them.
    """

    joint: Indices
    J: Array
    C: Array
    linear: Flags
    scale: Array


def redundancies(exact: ExactJoints, Q: Array, mass: Array, is_fixed: Indices) -> list[Redundancy]:
    """All redundancies at Q; fixed bodies count as one, M̂ (n, 4, 4) measures motions."""
    framed = len(exact.joint) - exact.combined.count  # coordinates that are held are not looked at
    joints, first = np.unique(exact.joint[:framed], return_index=True)
    ends = exact.pairs[first]
    ground = len(Q)
    nodes = np.where(is_fixed[ends] != 0, ground, ends)
    found = []
    for edges in loops(ground + 1, nodes):
        equations = _equations(exact, joints[edges], Q, mass, is_fixed)
        if len(equations.C) <= _ROWS:
            found += _dependent(equations)
    return found


def _equations(exact: ExactJoints, joints: Indices, Q: Array, mass: Array, is_fixed: Indices) -> _Equations:
    """Rows of some joints at Q, with gradients in units of √mass and of length one."""
    parts = []
    for s in (exact.points, exact.slides):
        for k in s.exact + np.flatnonzero(np.isin(s.joint[s.exact :], joints)):
            F = s.W[k] @ np.concatenate([Q[s.left[k]], Q[s.right[k]]])
            # how a change of each row of F moves C, one (3, 3) for each
            if len(F) == 1:
                slopes, C, across = [np.eye(3)], F[0], np.eye(3)
            else:
                u, v = F
                slopes, C = [-_cross(v), _cross(u)], np.cross(u, v)
                across = np.linalg.svd(v[None])[2][1:]  # C has no component along v
            parts.append((s.joint[k], s.left[k], s.right[k], s.W[k], [across @ slope for slope in slopes], across @ C))
    bodies = sorted({int(b) for _, left, right, *_ in parts for b in (left, right) if not is_fixed[b]})
    column = {body: 12 * k for k, body in enumerate(bodies)}
    # Q in units in which the kinetic energy is |Q|²/2
    root = {body: np.linalg.inv(np.linalg.cholesky(mass[body])).T for body in bodies}
    total = sum(len(C) for *_, C in parts)
    joint, linear = np.zeros(total, np.int64), np.zeros(total, bool)
    out = _Equations(joint, np.zeros((total, 12 * len(bodies))), np.zeros(total), linear, np.ones(total))
    at = 0
    for of, left, right, W, slopes, C in parts:
        here = slice(at, at + len(C))
        at += len(C)
        out.joint[here], out.C[here], out.linear[here] = of, C, len(W) == 1
        for body, half in ((int(left), slice(0, 4)), (int(right), slice(4, 8))):
            if body in column:
                for w, slope in zip(W[:, half] @ root[body], slopes, strict=True):
                    out.J[here, column[body] : column[body] + 12] += np.kron(w, slope)
    size = np.linalg.norm(out.J, axis=1)
    out.scale[size > 0.0] /= size[size > 0.0]
    out.J *= out.scale[:, None]
    return out


def _cross(w: Array) -> Array:
    """[w]×."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def _dependent(equations: _Equations) -> list[Redundancy]:
    """The redundancy of one loop, if it has any."""
    J = equations.J
    U, s, _ = np.linalg.svd(J, full_matrices=True) if J.shape[1] else (np.eye(len(J)), np.zeros(0), None)
    Z = U[:, int((s > _DEPENDENT).sum()) :]  # combinations of rows that vanish
    if not Z.shape[1]:
        return []
    share = {int(joint): np.linalg.norm(Z[equations.joint == joint]) for joint in np.unique(equations.joint)}
    involved = tuple(joint for joint, size in share.items() if size > _INVOLVED)
    # only combinations of linear rows keep their value
    curved = Z[~equations.linear]
    lasting = Z @ np.linalg.svd(curved, full_matrices=True)[2][_rank(curved) :].T if len(curved) else Z
    stuck = lasting @ (lasting.T @ (equations.scale * equations.C)) / equations.scale
    apart = float(np.abs(stuck).max())
    return [Redundancy(involved, Z.shape[1], apart if apart > _APART else 0.0)]


def _rank(A: Array) -> int:
    return int((np.linalg.svd(A, compute_uv=False) > _DEPENDENT).sum())
