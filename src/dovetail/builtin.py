"""Names and numbers that libuipc scripts look up: attribute names, `adaptive`, and the UID registries.

An attribute constant is its own name (`is_fixed == "is_fixed"`). Where it lives and what it means is
documented by the constitution that creates it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from dovetail.checked import shown
from dovetail.errors import ConstitutionError

__all__ = [
    "AffineBody",
    "ConstitutionUIDCollection",
    "Constraint",
    "ImplicitGeometry",
    "ImplicitGeometryUIDCollection",
    "InterAffineBody",
    "UIDEntry",
    "UIDRegister",
    "abd_mass",
    "abd_mass_x_bar",
    "abd_mass_x_bar_x_bar",
    "adaptive",
    "aim_angle",
    "aim_distance",
    "aim_position",
    "aim_transform",
    "angle",
    "backend_abd_body_offset",
    "backend_fem_vertex_offset",
    "constitution_uid",
    "constraint_uids",
    "contact_element_id",
    "d_hat",
    "delta_theta",
    "delta_theta_tilde",
    "distance",
    "dof_count",
    "dof_offset",
    "external_force",
    "external_kinetic",
    "external_torque",
    "extra_constitution_uids",
    "first_user_uid",
    "geo_id",
    "global_vertex_offset",
    "gravity",
    "implicit_geometry_uid",
    "index",
    "inertia",
    "init_angle",
    "init_distance",
    "is_codim",
    "is_constrained",
    "is_dynamic",
    "is_facet",
    "is_fixed",
    "is_passive",
    "is_surf",
    "kappa",
    "l_geo_id",
    "l_inst_id",
    "l_position",
    "l_position0",
    "l_position1",
    "looks_of",
    "mass",
    "mass_center",
    "mass_density",
    "motor_axis",
    "motor_rot_axis",
    "motor_rot_vel",
    "motor_vel",
    "orient",
    "parent_id",
    "position",
    "r_geo_id",
    "r_inst_id",
    "r_position",
    "r_position0",
    "r_position1",
    "ref_dof_prev",
    "self_collision",
    "strength_ratio",
    "subscene_element_id",
    "thickness",
    "topo",
    "transform",
    "velocity",
    "volume",
]

# --- geometry
position = "position"
transform = "transform"
topo = "topo"
is_surf = "is_surf"
is_facet = "is_facet"
orient = "orient"
parent_id = "parent_id"
thickness = "thickness"
implicit_geometry_uid = "implicit_geometry_uid"

# --- which constitutions a geometry carries
constitution_uid = "constitution_uid"
constraint_uids = "constraint_uids"
extra_constitution_uids = "extra_constitution_uids"

# --- affine bodies
kappa = "kappa"
is_fixed = "is_fixed"
is_dynamic = "is_dynamic"
external_kinetic = "external_kinetic"
velocity = "velocity"
gravity = "gravity"
volume = "volume"
mass_density = "mass_density"
mass = "mass"
mass_center = "mass_center"
inertia = "inertia"
abd_mass = "abd_mass"
abd_mass_x_bar = "abd_mass_x_bar"
abd_mass_x_bar_x_bar = "abd_mass_x_bar_x_bar"
is_codim = "is_codim"
external_force = "external_force"

# --- constraints and motors
is_constrained = "is_constrained"
aim_position = "aim_position"
aim_transform = "aim_transform"
strength_ratio = "strength_ratio"
motor_axis = "motor_axis"
motor_vel = "motor_vel"
motor_rot_axis = "motor_rot_axis"
motor_rot_vel = "motor_rot_vel"

# --- joints
l_geo_id = "l_geo_id"
r_geo_id = "r_geo_id"
l_inst_id = "l_inst_id"
r_inst_id = "r_inst_id"
l_position = "l_position"
r_position = "r_position"
l_position0 = "l_position0"
l_position1 = "l_position1"
r_position0 = "r_position0"
r_position1 = "r_position1"
angle = "angle"
init_angle = "init_angle"
aim_angle = "aim_angle"
distance = "distance"
init_distance = "init_distance"
aim_distance = "aim_distance"
is_passive = "is_passive"
external_torque = "external_torque"

# --- external articulation
geo_id = "geo_id"
index = "index"
delta_theta = "delta_theta"
delta_theta_tilde = "delta_theta_tilde"
ref_dof_prev = "ref_dof_prev"

# --- contact
contact_element_id = "contact_element_id"
subscene_element_id = "subscene_element_id"
self_collision = "self_collision"
d_hat = "d_hat"

# --- shown, and not simulated
looks_of = "looks_of"
"""Meta attribute of what a body looks like instead of its surface: the id of the body's geometry."""

# --- written by a world at init
dof_offset = "dof_offset"
dof_count = "dof_count"
backend_abd_body_offset = "backend_abd_body_offset"
backend_fem_vertex_offset = "backend_fem_vertex_offset"
global_vertex_offset = "global_vertex_offset"

# --- types of constitutions and geometries
AffineBody = "AffineBody"
Constraint = "Constraint"
InterAffineBody = "InterAffineBody"
ImplicitGeometry = "ImplicitGeometry"

adaptive = -1.0
"""As a contact resistance: choose the barrier stiffness each frame."""

first_user_uid = 2**32
"""UIDs below this one belong to the specification, the others to users."""


@dataclass(frozen=True, slots=True)
class UIDEntry:
    """What a UID stands for."""

    uid: int
    name: str
    type: str


class UIDRegister:
    """UIDs with their names and types, in order of UID; one register per class, shared by the process."""

    _instance: ClassVar[UIDRegister | None] = None
    _specified: ClassVar[tuple[tuple[int, str, str], ...]] = ()

    def __init__(self) -> None:
        self._entries = {uid: UIDEntry(uid, name, kind) for uid, name, kind in self._specified}

    @classmethod
    def instance(cls) -> Self:
        if not isinstance(cls._instance, cls):
            cls._instance = cls()
        return cls._instance

    def exists(self, uid: int) -> bool:
        return int(uid) in self._entries

    def find(self, key: int | str) -> UIDEntry:
        """Entry of a UID or of a name; an unknown one is an error."""
        for entry in self:
            if key in (entry.uid, entry.name):
                return entry
        raise ConstitutionError(
            f"{type(self).__name__}: nothing is registered under {shown(key)}; known are "
            + ", ".join(f"{e.uid} {e.name}" for e in self)
            + "."
        )

    def register(self, uid: int, name: str, type: str) -> UIDEntry:
        """Add a user's entry. Registering the same uid and name again changes nothing (notebooks do)."""
        entry = UIDEntry(int(uid), name, type)
        if entry.uid < first_user_uid:
            raise ConstitutionError(
                f"{name}: uid {uid} is reserved for the specification; choose one of your own, ≥ 2**32."
            )
        if self._entries.setdefault(entry.uid, entry) != entry:
            taken = self._entries[entry.uid]
            raise ConstitutionError(
                f"{name}: uid {uid} already belongs to {taken.name} ({taken.type}); choose another one."
            )
        return entry

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(entry) for entry in self]

    def __iter__(self) -> Iterator[UIDEntry]:
        return iter([self._entries[uid] for uid in sorted(self._entries)])

    def __len__(self) -> int:
        return len(self._entries)


class ConstitutionUIDCollection(UIDRegister):
    """All constitutions: those of the specification, and users' own."""

    _specified = (
        (1, "OrthoPotential", AffineBody),
        (2, "ARAP", AffineBody),
        (16, "SoftTransformConstraint", Constraint),
        (18, "AffineBodyRevoluteJoint", InterAffineBody),
        (19, "AffineBodyDrivingRevoluteJoint", Constraint),
        (20, "AffineBodyPrismaticJoint", InterAffineBody),
        (21, "AffineBodyDrivingPrismaticJoint", Constraint),
        (23, "ExternalArticulationConstitution", InterAffineBody),
        (24, "ExternalArticulationConstraint", Constraint),
        (25, "AffineBodyFixedJoint", InterAffineBody),
        (26, "AffineBodySphericalJoint", InterAffineBody),
        (27, "AffineBodyDrivingSphericalJoint", Constraint),
        (28, "AffineBodyD6Joint", InterAffineBody),
        (666, "AffineBodyExternalForce", Constraint),
        (667, "AffineBodyPrismaticJointExternalForce", Constraint),
        (668, "AffineBodyRevoluteJointExternalForce", Constraint),
        (669, "AffineBodyPrismaticJointLimit", InterAffineBody),
        (670, "AffineBodyRevoluteJointLimit", InterAffineBody),
        # beyond the specification, whose numbers stay below 1,000
        (10001, "AffineBodyCylindricalJoint", InterAffineBody),
        (10002, "AffineBodyPlanarJoint", InterAffineBody),
        (10003, "AffineBodyUniversalJoint", InterAffineBody),
        (10004, "AffineBodyDistanceJoint", InterAffineBody),
        (10005, "AffineBodyPointOnLineJoint", InterAffineBody),
        (10006, "AffineBodyScrewJoint", InterAffineBody),
        (10101, "AffineBodyJointDrive", Constraint),
        (10102, "AffineBodyJointDamper", Constraint),
        (10103, "AffineBodyJointFriction", Constraint),
        (10104, "AffineBodyJointLimit", InterAffineBody),
        (10105, "AffineBodyJointCoupling", Constraint),
        (10106, "AffineBodyJointArmature", Constraint),
        (10107, "AffineBodyJointSpring", Constraint),
        (10108, "AffineBodySphericalJointResistance", Constraint),
    )


class ImplicitGeometryUIDCollection(UIDRegister):
    """Geometries given by a formula instead of a mesh."""

    _specified = (
        (0, "Empty", ImplicitGeometry),
        (1, "HalfPlane", ImplicitGeometry),
    )
