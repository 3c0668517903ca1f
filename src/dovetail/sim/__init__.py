"""The short form: simulations in a few lines, with handles for bodies and joints. Public calls only."""

from __future__ import annotations

from dovetail.sim.body import Body
from dovetail.sim.compound import Part, PartOptions
from dovetail.sim.coordinate import Coordinate
from dovetail.sim.coupling import Coupling
from dovetail.sim.d6_joint import D6Joint
from dovetail.sim.drive import Drive
from dovetail.sim.energy import Energy
from dovetail.sim.further_joints import (
    CylindricalJoint,
    DistanceJoint,
    PlanarJoint,
    PointOnLineJoint,
    ScrewJoint,
    UniversalJoint,
)
from dovetail.sim.joint import FixedJoint, PrismaticJoint, Reaction, RevoluteJoint, SimJoint
from dovetail.sim.make_bodies import BodyOptions
from dovetail.sim.make_joints import HoldOptions, JointOptions
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.run import Run
from dovetail.sim.sim import Sim
from dovetail.sim.spherical_joint import SphericalDrive, SphericalJoint
from dovetail.sim.terrain import TerrainOptions

__all__ = [
    "Body",
    "BodyOptions",
    "Coordinate",
    "Coupling",
    "CylindricalJoint",
    "D6Joint",
    "DistanceJoint",
    "Drive",
    "Energy",
    "FixedJoint",
    "HoldOptions",
    "JointOptions",
    "Mechanism",
    "Part",
    "PartOptions",
    "PlanarJoint",
    "PointOnLineJoint",
    "PrismaticJoint",
    "Reaction",
    "RevoluteJoint",
    "Run",
    "ScrewJoint",
    "Sim",
    "SimJoint",
    "SphericalDrive",
    "SphericalJoint",
    "TerrainOptions",
    "UniversalJoint",
]
