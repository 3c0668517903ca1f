"""Loads: generalised forces without an energy, evaluated at the start of a step."""

from dovetail.solver.load.body_force import BodyForces
from dovetail.solver.load.joint_force import JointForces
from dovetail.solver.load.joint_torque import JointTorques

__all__ = ["BodyForces", "JointForces", "JointTorques"]
