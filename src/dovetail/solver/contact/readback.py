"""What contact tells after a step: where bodies touch, how hard they press and rub, and the net effect on each body.

The generalised force of contact on a body is G = −∂E/∂Q / h² (4×3), E the barrier at the end of the step and friction
as it was lagged at its start: exactly the forces of the step's balance of momentum. As for joints,

    force   f = G₀ [N]            torque about the centre of mass c:   τ = Σ_k a_k × G_k + (p − c) × G₀ [N·m]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.assembly import Assembly
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.friction import Frictions
from dovetail.solver.contact.kinds import D_HAT, KIND, MU, PAIR, POINT_TRIANGLE, SHAPE, THICKNESS, X0, B
from dovetail.solver.contact.normal import add_normal_gradient
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.solver.blow import Blow

__all__ = ["ContactList", "Struck", "Survey", "axis_beside", "barrier_of", "features_of"]


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
class ContactList:
    """Arrays over contacts; those that rubbed in the step but have parted since come last, with no normal force.

    point (k, 3)           midway between the closest points of the surfaces [m]
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


class Struck(NamedTuple):
    """What contacts have done in a step that ended in a blow: G h² (n, 12) on bodies, and their list.

    `blow` is what was decided in it. Of a blow that was loaded from a dump nothing but the forces is known.
    """

    forces: Array
    listing: ContactList | None = None
    blow: Blow | None = None


@dataclass(frozen=True)
class Survey:
    """All active contacts at a state Q, friction of the step that led there, and the barrier's energy · h².

    `struck` is what they have done in a blow at the end of that step, if there was one.
    """

    scene: ContactScene
    active: ActiveContacts
    energy: float
    friction: Frictions
    Q: Array
    Q_start: Array
    room: Assembly
    struck: Struck | None = None

    @property
    def candidates(self) -> Candidates:
        return self.active.candidates

    @property
    def bodies(self) -> Indices:
        """a, b (k, 2) of all contacts; b = −1 for a half-plane."""
        return self.active.bodies[: self.active.count]

    @property
    def candidate(self) -> Indices:
        """The candidate (k,) that each contact is."""
        return self.active.candidate[: self.active.count]

    def generalised_forces(self) -> Array:
        """G h² (n, 12) on every body, fixed ones included."""
        if self.struck is not None:
            return self.struck.forces
        g = self.room.gradient
        g.fill(0.0)
        add_normal_gradient(self.active, self.scene, self.room.normal, self.room.everybody, g)
        self.friction.add_gradient(self.Q_start, self.Q, g)
        return -g

    def net_forces(self, centre: Array, h: float) -> tuple[Array, Array]:
        """Force [N] and torque about the centre of mass [N·m] on every body; centre (n, 3) in its own frame."""
        force, torque = np.empty((2, len(self.Q), 3))
        _net(centre, self.Q, self.generalised_forces() / (h * h), force, torque)
        return force, torque

    def listing(self, h: float) -> ContactList:
        """Point, normal, gap and forces of every contact."""
        if self.struck is not None and self.struck.listing is not None:
            return self.struck.listing
        rubbing, parted, force = self._rubbing()
        count, friction = self.active.count, self.friction
        r, distance = self.active.r[:count], np.sqrt(self.active.squared[:count])
        numbers = self.candidates.numbers[self.candidate]
        rest_bodies, rest_candidate = friction.bodies[parted], friction.candidate[parted]
        tangent = friction.tangent[parted]
        rest_normal = np.cross(tangent[:, 0], tangent[:, 1])
        rest_plane = _planes(friction.candidates, rest_candidate)
        x_a, x_b = self._images(friction.xi[parted], rest_bodies)
        on_plane = rest_plane >= 0
        point = self.scene.plane_point[rest_plane[on_plane]]
        height = np.einsum("nx,nx->n", x_a[on_plane] - point, rest_normal[on_plane])
        x_b[on_plane] = x_a[on_plane] - height[:, None] * rest_normal[on_plane]
        # these are points of the surfaces, whose cores are farther apart
        apart = np.linalg.norm(x_a - x_b, axis=1) + self._thick(rest_bodies).sum(axis=1)
        rest_gap = apart - friction.candidates.numbers[rest_candidate, THICKNESS]
        first, _ = self._images(self.active.xi[:count], self.bodies)
        normal, thick = r / distance[:, None], self._thick(self.bodies)
        return ContactList(
            point=np.concatenate(
                [first - 0.5 * (distance + thick[:, 0] - thick[:, 1])[:, None] * normal, 0.5 * (x_a + x_b)]
            ),
            normal=np.concatenate([normal, rest_normal]),
            gap=np.concatenate([distance - numbers[:, THICKNESS], rest_gap]),
            normal_force=np.concatenate([self._normal_forces(numbers) / (h * h), np.zeros(len(parted))]),
            friction_force=np.concatenate([rubbing, force[parted]]) / (h * h),
            bodies=np.concatenate([self.bodies, rest_bodies]),
            plane=np.concatenate([_planes(self.candidates, self.candidate), rest_plane]),
        )

    def _rubbing(self) -> tuple[Array, Indices, Array]:
        """Friction h² (k, 3) on body a of every contact; rows of those that have parted, and h² forces of all rows."""
        place = self._places()
        # what resists rolling has directions for its points, and is a torque alone
        on_points = self.friction.xi[: self.friction.count, 0] != 0.0
        parted, there = np.flatnonzero((place < 0) & on_points), (place >= 0) & on_points
        force, _ = self.friction.slips(self.Q_start, self.Q)
        rubbing = np.zeros((self.active.count, 3))
        rubbing[place[there]] = force[there]
        return rubbing, parted, force

    def after_blows(self, blow: Blow, chosen: Indices, along: Array, forces: Array, G: Array, h: float) -> Struck:
        """What contacts have done with further forces [N] (m, 3) of some along n, t₁, t₂: G h² (n, 12) on bodies."""
        told = self.listing(h)
        normal, friction = told.normal_force.copy(), told.friction_force.copy()
        normal[chosen] += forces[:, 0]
        friction[chosen] += np.einsum("md,mdx->mx", forces[:, 1:], along[:, 1:])
        listing = replace(told, normal_force=normal, friction_force=friction)
        return Struck(self.generalised_forces() + G, listing, blow)

    # ---- what blows ask ------------------------------------------------------------------------------------------

    def restitution(self) -> Array:
        """e (k,) of every contact."""
        scene, (i, j) = self.scene, self.bodies.T
        other = scene.material[j]
        on_plane = j < 0
        other[on_plane] = scene.plane_material[self.candidates.pairs[self.candidate[on_plane], X0 + 1]]
        found: Array = scene.restitution[scene.material[i], other]
        return found

    def friction_of(self, chosen: Indices) -> Array:
        """μ (m,) of some contacts."""
        return np.maximum(self.candidates.numbers[self.candidate[chosen], MU], 0.0)

    def levers_of(self, chosen: Indices) -> Array:
        """Levers [m] of friction against rolling (m,) of some contacts."""
        scene, (a, b) = self.scene, self.bodies[chosen].T
        planes = np.maximum(_planes(self.candidates, self.candidate[chosen]), 0)
        other = scene.material[b] if not len(scene.plane_material) else np.where(
            b < 0, scene.plane_material[planes], scene.material[b]
        )  # fmt: skip
        found: Array = scene.rolling[scene.material[a], other]
        return found

    def along_normals(self, rows: Array, some: Indices) -> Array:
        """n·(x_a − x_b) (m,) of some contacts, for rows (n, 4, 3) of positions or their rates."""
        (i, j), xi, r = self.bodies[some].T, self.active.xi[some], self.active.r[some]
        x = np.einsum("ki,kix->kx", xi[:, :4], rows[i])
        x[j >= 0] -= np.einsum("ki,kix->kx", xi[j >= 0, 4:], rows[j[j >= 0]])
        return np.einsum("kx,kx->k", x, r) / np.sqrt(self.active.squared[some])

    def frames(self, chosen: Indices) -> Array:
        """n, t₁, t₂ (m, 3, 3) of some contacts."""
        n = self.active.r[chosen] / np.sqrt(self.active.squared[chosen])[:, None]
        t = np.cross(n, axis_beside(n))
        t /= np.linalg.norm(t, axis=1)[:, None]
        return np.stack([n, t, np.cross(n, t)], axis=1)

    def on_surfaces(self, chosen: Indices, n: Array, rolls: Flags) -> Array:
        """ξ (m, 8) of the points of the surfaces, which are by half a thickness nearer to each other along n (m, 3).

        Of those that are asked for against rolling (m,) the directions n.
        """
        xi, bodies = self.active.xi[chosen] * ~rolls[:, None], self.bodies[chosen]
        far = np.where(rolls[:, None], 1.0, self._thick(bodies) * np.array([-1.0, 1.0])) * (bodies >= 0)
        for side in range(2):
            some = np.flatnonzero(far[:, side])
            A = self.Q[bodies[some, side], 1:]
            along = far[some, side, None] * n[some]
            xi[some, 4 * side + 1 : 4 * side + 4] += np.linalg.solve(A.swapaxes(1, 2), along[:, :, None])[:, :, 0]
        return xi

    def impulses(self, chosen: Indices, along: Array, h: float) -> Array:
        """Impulses (m, 3) of some contacts in a step of length h, along n, t₁, t₂ (m, 3, 3)."""
        numbers = self.candidates.numbers[self.candidate]
        found = np.einsum("mx,mdx->md", self._rubbing()[0][chosen], along)
        found[:, 0] = self._normal_forces(numbers)[chosen]
        return found / h

    def features_of(self, chosen: Indices | slice) -> Indices:
        """What some contacts are made of, see there."""
        rows = self.candidate[chosen]
        return features_of(self.candidates.pairs[rows], self.candidates.numbers[rows])

    def sides(self) -> Indices:
        """Who touches (k, 2): the larger number first; −1 − p for half-plane p."""
        planes, bodies = _planes(self.candidates, self.candidate), self.bodies
        other = np.where(planes >= 0, -1 - planes, bodies[:, 1])
        return np.stack([np.maximum(bodies[:, 0], other), np.minimum(bodies[:, 0], other)], axis=1)

    def _normal_forces(self, numbers: Array) -> Array:
        """−∂E/∂d = −2 d m κ b′ of every contact; see barrier.py."""
        s, count = self.active, self.active.count
        squared = s.squared[:count]
        _, slope, _ = barrier_of(squared, numbers[:, THICKNESS], numbers[:, D_HAT])
        force: Array = -2.0 * np.sqrt(squared) * s.weight[:count] * s.kappa[:count] * slope
        return force

    def _thick(self, bodies: Indices) -> Array:
        """Half thicknesses (k, 2) [m] of the bodies of contacts; 0 for a half-plane."""
        found: Array = np.where(bodies >= 0, self.scene.thickness[bodies], 0.0)
        return found

    def _images(self, xi: Array, bodies: Indices) -> tuple[Array, Array]:
        """World positions of the two material points (k, 8); the second means nothing for a half-plane."""
        first = np.einsum("ni,nix->nx", xi[:, :4], self.Q[bodies[:, 0]])
        return first, np.einsum("ni,nix->nx", xi[:, 4:], self.Q[bodies[:, 1]])

    def _places(self) -> Indices:
        """The contact that each friction of the step has become, −1 where the two have parted."""
        here, friction = self.features_of(slice(None)), self.friction
        there, known = friction.candidate[: friction.count], friction.candidates
        keys = np.concatenate([here, features_of(known.pairs[there], known.numbers[there])])
        order = np.lexsort(keys.T)
        new = np.append(True, (np.diff(keys[order], axis=0) != 0).any(axis=1))[: len(keys)]
        name = np.empty(len(keys), np.int64)
        name[order] = np.cumsum(new) - 1
        contact = np.full(len(keys), -1)
        contact[name[: len(here)]] = np.arange(len(here))
        return contact[name[len(here) :]]


def axis_beside(n: Array) -> Array:
    """An axis (m, 3) that is not along n, which gives a well-conditioned tangent."""
    return np.where(np.abs(n[:, :1]) < 0.6, np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))


def barrier_of(squared: Array, thickness: Array, d_hat: Array) -> tuple[Array, Array, Array]:
    """b, b′, b″ by D over arrays, for κ = 1; see barrier.py."""
    inner, outer = thickness**2, (thickness + d_hat) ** 2
    x, gap = squared - outer, squared - inner
    logarithm = np.log(gap / (outer - inner))
    ratio = x / gap
    return -x * x * logarithm, -x * (2.0 * logarithm + ratio), ratio * ratio - 4.0 * ratio - 2.0 * logarithm


def features_of(pairs: Indices, numbers: Array) -> Indices:
    """Rows (k, 7) of candidates that are equal for the same features at two states; of a vertex and a patch the
    triangle does not count.
    """
    keys = pairs[:, :PAIR].copy()
    on_patch = keys[:, KIND] == POINT_TRIANGLE
    keys[on_patch, X0 + 1 :] = -1
    keys[on_patch, X0 + 1] = numbers[on_patch, SHAPE]
    return keys


def _planes(candidates: Candidates, candidate: Indices) -> Indices:
    rows = candidates.pairs[candidate]
    return np.where(rows[:, B] < 0, rows[:, X0 + 1], -1)
