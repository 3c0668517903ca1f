"""The short form: simulations in a few lines, with handles for bodies and joints. Public calls only."""

from __future__ import annotations

from dovetail.sim.body import Body
from dovetail.sim.building import BodyOptions, JointOptions
from dovetail.sim.drive import Drive
from dovetail.sim.energy import Energy
from dovetail.sim.joint import FixedJoint, PrismaticJoint, Reaction, RevoluteJoint, SimJoint, SphericalJoint
from dovetail.sim.run import Run
from dovetail.sim.sim import Sim

__all__ = [
    "Body",
    "BodyOptions",
    "Drive",
    "Energy",
    "FixedJoint",
    "JointOptions",
    "PrismaticJoint",
    "Reaction",
    "RevoluteJoint",
    "Run",
    "Sim",
    "SimJoint",
    "SphericalJoint",
]
