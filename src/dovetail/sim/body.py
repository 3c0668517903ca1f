"""Bodies of a `Sim`: handles with plain properties."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail import builtin
from dovetail.checked import LARGEST, checked, shown
from dovetail.constitution import AffineBodyExternalBodyForce
from dovetail.errors import SceneError
from dovetail.geometry import AttributeCollection, SimplicialComplex, SimplicialComplexSlot
from dovetail.sim.given import color_of, inverse, quaternion_of, rotation_of, skew, vector
from dovetail.sim.handle import Handle
from dovetail.sim.table import html_table, spell
from dovetail.typing import Array, ArrayLike

if TYPE_CHECKING:
    from dovetail.sim.sim import Sim
    from dovetail.world.live import Live

__all__ = ["Body"]

_NUMBER = "backend_abd_body_offset"


class Body(Handle):
    """A body. What is set before the first step is where and how it starts; afterwards it moves the body at once.

    | property | unit | |
    |---|---|---|
    | `pos` | m | where the origin of the body is; that of a primitive is its centre |
    | `rot` | | unit quaternion (w, x, y, z) of the nearest rotation |
    | `transform` | m | the whole affine map, 4×4 |
    | `velocity` | m/s | of the origin |
    | `spin` | rad/s | angular velocity, world axes |
    | `strain` | | how far it is from rigid: the largest entry of AᵀA − 1; a larger kappa makes it smaller |
    | `mass`, `center`, `inertia` | kg, m, kg·m² | centre of mass in the world; inertia about it, body axes |
    | `force`, `torque` | N, N·m | at the centre of mass, world axes |
    | `contact_force`, `contact_torque` | N, N·m | what contact did in the last step, about the centre of mass |
    | `fixed`, `color`, `name`, `vertices` | | `vertices` (n, 3) in the world |
    | `looks` | | meshes, in the body's frame, that it is drawn as; none where that is its own surface |
    """

    def __init__(self, sim: Sim, slot: SimplicialComplexSlot, kind: str) -> None:
        self._sim, self._lock = sim, sim._lock
        self._slot = slot
        self._kind = kind
        self._live: Live | None = None  # once the world is there,
        self._number = 0  # with the number of the body
        self._torque, self._turns = np.zeros(3), False

    @property
    def number(self) -> int:
        """The number of the body in the world, which is made where that has not happened yet."""
        if self._live is None:
            self._sim.require_present(self._who, self._slot)
            self._live, self._number = self._sim.world.live, int(self._slot.geometry.meta.slot(_NUMBER).first)
        return self._number

    def _find(self) -> Live | None:
        """Where the body's state is read; None before the world is there, and of a body that was removed."""
        return self._live if self._sim.runs(self._slot) and self.number >= 0 else None

    def let_go(self) -> None:
        """The world is changed: look for the body anew."""
        self._live = None

    @property
    def name(self) -> str:
        return self._slot.object_name

    @property
    def slot(self) -> SimplicialComplexSlot:
        """The geometry slot, for everything that the scene's own interface can do."""
        return self._slot

    @property
    def fixed(self) -> bool:
        return bool(self._slot.geometry.instances.slot("is_fixed").first)

    @property
    def mass(self) -> float:
        return float(self._slot.geometry.meta.slot("mass").first)

    @property
    def inertia(self) -> Array:
        return np.array(self._slot.geometry.meta.slot("inertia").first)

    @property
    def center(self) -> Array:
        return self.point(self._center)

    @property
    def _center(self) -> Array:
        """Centre of mass in the body [m]."""
        return np.array(self._slot.geometry.meta.slot("mass_center").first).reshape(3)

    @cached_property
    def extent(self) -> float:
        """The diagonal of the box around its own vertices [m]."""
        positions = self._slot.geometry.positions.values
        return math.dist(positions.min(axis=0), positions.max(axis=0))

    @property
    def vertices(self) -> Array:
        T = self.transform
        return np.asarray(self._slot.geometry.positions.values @ T[:3, :3].T + T[:3, 3])

    @property
    def looks(self) -> list[SimplicialComplex]:
        self._sim.require_present(self._who, self._slot)
        slots = self._sim.scene.objects.find(self.name)[0].geometries
        return [slot.geometry for slot in slots if slot.geometry.meta.find(builtin.looks_of) is not None]

    def point(self, local: ArrayLike) -> Array:
        """Where the body carries one of its own points [m]."""
        T = self.transform
        return np.asarray(T[:3, :3] @ vector(self._who, "a point", local, "m") + T[:3, 3])

    def local(self, point: ArrayLike) -> Array:
        """Which of the body's own points is at a place of the world [m]."""
        T = self.transform
        x = vector(self._who, "a point", point, "m")
        return np.asarray(inverse(self._who, T[:3, :3]) @ (x - T[:3, 3]))

    # --- pose and velocity --------------------------------------------------------------------------------

    @property
    def transform(self) -> Array:
        live = self._live or self._find()
        if live is not None:
            return live.transform(self._number)
        T = np.array(self._slot.geometry.transforms.first)
        if not (np.abs(T) <= LARGEST).all():  # possible by the slot's attributes
            raise SceneError(
                f"{self._who}: its transform {T.tolist()} has entries that are not finite, or larger than {LARGEST:g}; "
                "give it a proper pose."
            )
        return T

    @transform.setter
    def transform(self, value: ArrayLike) -> None:
        T = vector(self._who, "transform", value, size=16).reshape(4, 4)
        det = float(np.linalg.det(T[:3, :3]))
        if not det > 0.0 or T[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
            raise SceneError(
                f"{self._who}: transform = {T.tolist()} mirrors or flattens it (its determinant is {det:.3g}), or has "
                "another last row than (0, 0, 0, 1); give a proper pose."
            )
        self._sim.write_state(self._slot, T, None)

    @property
    def pos(self) -> Array:
        live = self._live or self._find()
        return self.transform[:3, 3] if live is None else live.position(self._number)

    @pos.setter
    def pos(self, value: ArrayLike) -> None:
        T = self.transform
        T[:3, 3] = vector(self._who, "pos", value, "m")
        self._sim.write_state(self._slot, T, None)

    @property
    def rot(self) -> Array:
        return quaternion_of(self.transform[:3, :3])

    @rot.setter
    def rot(self, value: Any) -> None:
        T = self.transform
        T[:3, :3] = rotation_of(self._who, value)
        self._sim.write_state(self._slot, T, None)

    @property
    def strain(self) -> float:
        A = self.transform[:3, :3]
        return float(np.abs(A.T @ A - np.eye(3)).max())

    @property
    def velocity(self) -> Array:
        live = self._live or self._find()
        return self._rate[:3, 3] if live is None else live.velocity(self._number)

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        V = self._rate
        V[:3, 3] = vector(self._who, "velocity", value, "m/s")
        self._sim.write_state(self._slot, None, V)

    @property
    def spin(self) -> Array:
        dA = self._rate[:3, :3]
        W = dA @ inverse(self._who, self.transform[:3, :3])
        return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2

    @spin.setter
    def spin(self, value: ArrayLike) -> None:
        V = self._rate
        V[:3, :3] = skew(vector(self._who, "spin", value, "rad/s")) @ self.transform[:3, :3]
        self._sim.write_state(self._slot, None, V)

    @property
    def _rate(self) -> Array:
        """The rate of the transform, copied."""
        live = self._live or self._find()
        if live is not None:
            return live.transform_rate(self._number)
        return np.array(self._slot.geometry.instances.slot("velocity").first)

    # --- forces -------------------------------------------------------------------------------------------

    @property
    def force(self) -> Array:
        slot = self._slot.geometry.instances.find("external_force")
        return np.zeros(3) if slot is None else np.array(slot.first).reshape(12)[:3]

    @force.setter
    def force(self, value: ArrayLike) -> None:
        f = vector(self._who, "force", value, "N")
        self._announce()
        self._push(f)

    @property
    def torque(self) -> Array:
        return self._torque.copy()

    @torque.setter
    def torque(self, value: ArrayLike) -> None:
        torque = vector(self._who, "torque", value, "N·m")
        self._announce()
        if not self._turns:
            self._turns = True
            self._sim.before_step(lambda: self._push(self.force) if self._sim.runs(self._slot) else None)
        self._torque = torque
        self._push(self.force)

    def _announce(self) -> None:
        """Make room for forces."""
        if "external_force" not in self._instances:
            self._sim.reopen()
            AffineBodyExternalBodyForce().apply_to(self._slot.geometry, np.zeros(3))

    def _push(self, f: Array) -> None:
        """Write the generalised force of f at the centre of mass and of the torque, for the present pose.

        On A it is f cᵀ + ½[τ]× A⁻ᵀ, whose work in δA = [δφ]× A is f·(δφ × A c) + τ·δφ.
        """
        G = np.outer(f, self._center)
        if self._torque.any():
            G = G + 0.5 * skew(self._torque) @ inverse(self._who, self.transform[:3, :3]).T
        self._instances["external_force"] = np.concatenate([f, G.ravel()])

    @property
    def _instances(self) -> AttributeCollection:
        return self._slot.geometry.instances

    # --- contact ------------------------------------------------------------------------------------------

    @checked(SceneError)
    def force_from(self, other: Body | str) -> Array:
        """What another body, or the ground of a name, exerted on this one in the last step by contact [N], world axes.

        It counts what `contact_force` counts: the barrier, and friction.
        """
        slots = (slot for slot, _ in self._sim.scene.geometries)
        grounds = [slot.object_name for slot in slots if slot.geometry.type() == "ImplicitGeometry"]
        if other._sim is not self._sim if isinstance(other, Body) else other not in grounds:
            known = f", or the name of a ground: {', '.join(map(repr, grounds))}" if grounds else ""
            raise SceneError(f"{self._who}: other = {shown(other)}; give a body of this Sim{known}.")
        contacts, me = self._sim.contacts, self.number
        if isinstance(other, Body):
            theirs = (contacts.bodies == other.number).any(axis=1)
        else:
            plane = f"half-plane '{other}'"
            theirs = np.array([contacts.names(k)[1] == plane for k in range(len(contacts))], np.bool_)
        bodies = contacts.bodies[theirs]
        sign = np.where(bodies[:, 0] == me, 1.0, np.where(bodies[:, 1] == me, -1.0, 0.0))
        force = contacts.normal_force[theirs, None] * contacts.normal[theirs] + contacts.friction_force[theirs]
        return np.asarray(sign @ force)

    @checked(SceneError)
    def touches(self, other: Body | str) -> bool:
        """Whether another body, or the ground of a name, pushes or rubs this one."""
        return bool(self.force_from(other).any())

    @property
    def contact_force(self) -> Array:
        return self._read("contact/force")

    @property
    def contact_torque(self) -> Array:
        return self._read("contact/torque")

    def _read(self, name: str) -> Array:
        self._sim.sync()
        slot = self._slot.geometry.instances.find(name)
        return np.zeros(3) if slot is None else np.array(slot.first).reshape(3)

    # --- looks --------------------------------------------------------------------------------------------

    @property
    def color(self) -> Array | None:
        slot = self._slot.geometry.instances.find("color")
        return None if slot is None else np.array(slot.first).reshape(3)

    @color.setter
    def color(self, value: Any) -> None:
        rgb = color_of(self._who, value)
        instances = self._slot.geometry.instances
        if "color" not in instances:
            instances.create("color", rgb)
        instances["color"] = rgb

    @property
    def _who(self) -> str:
        return f"{self._kind} '{self.name}'"

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("mass", f"{self.mass:.4g} kg"), ("pos", f"{spell(self.pos)} m")]
        if self.fixed:
            return [*rows, ("", "fixed")]
        rows.append(("velocity", f"{spell(self.velocity)} m/s"))
        if np.linalg.matrix_rank(self.transform[:3, :3]) < 3:  # possible by the slot's attributes
            return [*rows, ("", "flattened by its transform")]
        return [*rows, ("spin", f"{spell(self.spin)} rad/s")]

    def __repr__(self) -> str:
        return f"<{self._who}: {', '.join(f'{name} {value}'.strip() for name, value in self._rows())}>"

    def _repr_html_(self) -> str:
        return html_table(self._who, self._rows())
