"""What contact tells after a step: where bodies touch, how hard they press and rub, and the net effect on each body.

The generalised force of contact on a body is G = −∂E/∂Q / h² (4×3), E the barrier at the end of the step and friction
as it was lagged at its start: exactly the forces of the step's balance of momentum. As for joints,

    force   f = G₀ [N]            torque about the centre of mass c:   τ = Σ_k a_k × G_k + (p − c) × G₀ [N·m]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.friction import add_friction_gradient, friction_slips
from dovetail.solver.contact.kinds import POINT_TRIANGLE
from dovetail.solver.contact.normal import add_normal_gradient
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["ContactList", "Friction", "Survey", "barrier_of"]


@kernel
def _net(centre: Array, Q: Array, G: Array, force: Array, torque: Array) -> None:
    """Force and torque about the centre of mass of generalised forces G (n, 12)."""
    for b in range(len(Q)):
        for x in range(3):
            y, z = (x + 1) % 3, (x + 2) % 3
            force[b, x] = G[b, x]
            torque[b, x] = 0.0
            for k in range(3):
                # p − c = −Σ c_k a_k
                along_y = G[b, 3 + 3 * k + y] - centre[b, k] * G[b, y]
                along_z = G[b, 3 + 3 * k + z] - centre[b, k] * G[b, z]
                torque[b, x] += Q[b, 1 + k, y] * along_z - Q[b, 1 + k, z] * along_y


@dataclass(frozen=True)
class Friction:
    """Lagged friction of a step: rows as in friction.py, the candidates it came from, and ε = eps_velocity · h [m]."""

    rows: Array
    bodies: Indices
    candidates: Candidates
    epsilon: float

    def slips(self, Q_start: Array, Q: Array) -> tuple[Array, float]:
        """Forces on bodies a (k, 3) and the energy lost from Q_start to Q, both times h²."""
        force = np.empty((len(self.rows), 3))
        lost = friction_slips(len(self.rows), self.rows, self.bodies, self.epsilon, Q_start, Q, force)
        return force, float(lost)


@dataclass(frozen=True)
class ContactList:
    """Arrays over contacts; those that rubbed in the step but have parted since come last, with no normal force.

    point (k, 3)           midway between the closest points [m]
    normal (k, 3)          unit vector from body b to body a
    gap (k,)               distance less the thickness of both [m]
    normal_force (k,)      ≥ 0, pushes a along the normal [N]
    friction_force (k, 3)  on body a [N]
    bodies (k, 2)          a, b; b = −1 for a half-plane
    plane (k,)             the half-plane, else −1
    """

    point: Array
    normal: Array
    gap: Array
    normal_force: Array
    friction_force: Array
    bodies: Indices
    plane: Indices


@dataclass(frozen=True)
class Survey:
    """All active contacts at a state Q: rows as in narrow.py, their candidates, X, and the barrier's energy · h².

    The rows are scratch of the solver: to be read before the next step.
    """

    scene: ContactScene
    contacts: Array
    bodies: Indices
    candidates: Candidates
    X: Array
    energy: float
    friction: Friction
    Q: Array
    Q_start: Array

    def generalised_forces(self) -> Array:
        """G h² (n, 12) on every body, fixed ones included."""
        position, g = np.arange(len(self.Q)), np.zeros((len(self.Q), 12))
        add_normal_gradient(
            self.contacts, self.bodies, self.candidates.pairs, self.candidates.numbers, self.scene.x_base,
            self.scene.V, self.X, position, g,
        )  # fmt: skip
        force, _ = self.friction.slips(self.Q_start, self.Q)
        add_friction_gradient(self.friction.rows, self.friction.bodies, force, position, g)
        return -g

    def net_forces(self, centre: Array, h: float) -> tuple[Array, Array]:
        """Force [N] and torque about the centre of mass [N·m] on every body; centre (n, 3) in its own frame."""
        force, torque = np.empty((2, len(self.Q), 3))
        _net(centre, self.Q, self.generalised_forces() / (h * h), force, torque)
        return force, torque

    def listing(self, h: float) -> ContactList:
        """Point, normal, gap and forces of every contact."""
        place = self._places()
        parted = np.flatnonzero(place < 0)
        force, _ = self.friction.slips(self.Q_start, self.Q)
        rubbing = np.zeros((len(self.contacts), 3))
        rubbing[place[place >= 0]] = force[place >= 0]
        a, b, candidate = self.bodies.T
        r, squared = self.contacts[:, 8:11], self.contacts[:, 11]
        distance = np.sqrt(squared)
        numbers = self.candidates.numbers[candidate]
        rest = self.friction.rows[parted]
        rest_bodies = self.friction.bodies[parted]
        rest_candidate = rest[:, 15].astype(np.int64)
        rest_normal = np.cross(rest[:, 8:11], rest[:, 11:14])
        rest_plane = _planes(self.friction.candidates, rest_candidate)
        x_a, x_b = self._images(rest, rest_bodies)
        on_plane = rest_plane >= 0
        point = self.scene.plane_point[rest_plane[on_plane]]
        height = np.einsum("nx,nx->n", x_a[on_plane] - point, rest_normal[on_plane])
        x_b[on_plane] = x_a[on_plane] - height[:, None] * rest_normal[on_plane]
        rest_gap = np.linalg.norm(x_a - x_b, axis=1) - self.friction.candidates.numbers[rest_candidate, 3]
        first, _ = self._images(self.contacts, self.bodies)
        return ContactList(
            point=np.concatenate([first - 0.5 * r, 0.5 * (x_a + x_b)]),
            normal=np.concatenate([r / distance[:, None], rest_normal]),
            gap=np.concatenate([distance - numbers[:, 3], rest_gap]),
            normal_force=np.concatenate([self._normal_forces(numbers) / (h * h), np.zeros(len(parted))]),
            friction_force=np.concatenate([rubbing, force[parted]]) / (h * h),
            bodies=np.concatenate([np.stack([a, b], axis=1), rest_bodies]),
            plane=np.concatenate([_planes(self.candidates, candidate), rest_plane]),
        )

    def _normal_forces(self, numbers: Array) -> Array:
        """−∂E/∂d = −2 d m κ b′ of every contact; see barrier.py."""
        squared, weight, kappa = self.contacts[:, 11], self.contacts[:, 12], self.contacts[:, 14]
        _, slope, _ = barrier_of(squared, numbers[:, 3], numbers[:, 2])
        force: Array = -2.0 * np.sqrt(squared) * weight * kappa * slope
        return force

    def _images(self, rows: Array, bodies: Indices) -> tuple[Array, Array]:
        """World positions of the two material points of each row; the second means nothing for a half-plane."""
        first = np.einsum("ni,nix->nx", rows[:, :4], self.Q[bodies[:, 0]])
        return first, np.einsum("ni,nix->nx", rows[:, 4:8], self.Q[bodies[:, 1]])

    def _places(self) -> Indices:
        """The contact that each friction of the step has become, −1 where the two have parted."""
        here = _keys(self.bodies[:, 2], self.candidates)
        keys = np.concatenate([here, _keys(self.friction.rows[:, 15].astype(np.int64), self.friction.candidates)])
        order = np.lexsort(keys.T)
        new = np.append(True, (np.diff(keys[order], axis=0) != 0).any(axis=1))[: len(keys)]
        name = np.empty(len(keys), np.int64)
        name[order] = np.cumsum(new) - 1
        contact = np.full(len(keys), -1)
        contact[name[: len(here)]] = np.arange(len(here))
        return contact[name[len(here) :]]


def barrier_of(squared: Array, thickness: Array, d_hat: Array) -> tuple[Array, Array, Array]:
    """b, b′, b″ by D over arrays, for κ = 1; see barrier.py."""
    inner, outer = thickness**2, (thickness + d_hat) ** 2
    x, gap = squared - outer, squared - inner
    logarithm = np.log(gap / (outer - inner))
    ratio = x / gap
    return -x * x * logarithm, -x * (2.0 * logarithm + ratio), ratio * ratio - 4.0 * ratio - 2.0 * logarithm


def _keys(candidate: Indices, candidates: Candidates) -> Indices:
    """Rows that are equal for the same features at two states; of a vertex and a patch the triangle does not count."""
    keys = candidates.pairs[candidate, :7].copy()
    on_patch = keys[:, 0] == POINT_TRIANGLE
    keys[on_patch, 4:] = -1
    keys[on_patch, 4] = candidates.numbers[candidate[on_patch], 4]
    return keys


def _planes(candidates: Candidates, candidate: Indices) -> Indices:
    rows = candidates.pairs[candidate]
    return np.where(rows[:, 2] < 0, rows[:, 4], -1)
