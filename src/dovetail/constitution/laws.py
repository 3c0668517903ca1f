"""The laws that drives, springs, limits, dampers, friction, rotors and held coordinates are made of: words for φ(x).

φ [kg·m²] is an energy times h², so −φ′/h² is the effort [N or N·m] along +x. xₙ is x at the start of the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dovetail.constitution.terms import Law, Parameter

__all__ = [
    "BEGUN",
    "SIDE",
    "STIFFNESS",
    "TARGET",
    "Armature",
    "Damper",
    "Drag",
    "DryFriction",
    "Elastic",
    "Hold",
    "Limit",
    "Servo",
    "SpeedServo",
    "Spring",
    "Stop",
]


STIFFNESS, TARGET, SIDE, BEGUN = 0, 2, 12, 13
"""Parameters of a servo: k, its target, and what the planner keeps (approach.py)."""


@dataclass(frozen=True, slots=True)
class Hold(Law):
    """φ = K/2 (s (x − x̃))²: a coordinate that the joint itself takes away, with K as its other terms have.

    `target` names the attribute of x̃, 0 without one; `scale` that of s, which turns x into what K weighs, 1 without.
    """

    target: str = ""
    scale: str = ""
    function: ClassVar[str] = "hold"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        strength = Parameter("strength_ratio", times_mass=True)
        target = Parameter(self.target) if self.target else Parameter(value=0.0)
        return (strength, target, Parameter(self.scale) if self.scale else Parameter(value=1.0))


@dataclass(frozen=True, slots=True)
class Spring(Law):
    """φ = K_d/2 (x − x̃)², K_d = strength_ratio·(m_i + m_j), x̃ = aim − offset.

    Acts only where `is_constrained` is 1. Where `is_passive` is 1, x̃ is the value x had when it became 1.
    """

    aim: str
    strength_ratio: str = "driving/strength_ratio"
    is_constrained: str = "driving/is_constrained"
    is_passive: str = "is_passive"
    function: ClassVar[str] = "spring"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (Parameter(self.strength_ratio, times_mass=True), Parameter(self.aim, reported=True))

    @property
    def switch(self) -> str:
        return self.is_constrained

    @property
    def hold(self) -> str:
        return self.is_passive

    @property
    def effort(self) -> str:
        return "driving/effort"


@dataclass(frozen=True, slots=True)
class Limit(Law):
    """φ = s((x − u)/w)³ above u, s((l − x)/w)³ below l, 0 between; w = u − l, or 1 where u = l.

    Where s is infinite it is zero, and a `Stop` does its work.
    """

    prefix: str = ""
    function: ClassVar[str] = "limit"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        own = f"{self.prefix}limit/"
        bounds = Parameter(f"{own}lower", reported=True), Parameter(f"{own}upper", reported=True)
        return (*bounds, Parameter(f"{own}strength", unbounded=True, sign="≥ 0"))

    @property
    def effort(self) -> str:
        return f"{self.prefix}limit/effort"


@dataclass(frozen=True, slots=True)
class Stop(Limit):
    """A limit that is never crossed, where the strength is infinite: a barrier on the gaps to both bounds.

    φ = −κ (g − ĝ)² ln(g/ĝ) for 0 < g < ĝ, g = x − l and u − x, ĝ = 1e-4·min(1, u − l), κ the inertia of x,
    tenfold and more where it is pressed hard.
    """

    function: ClassVar[str] = "stop"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*Limit(self.prefix).parameters, Parameter(inertia=True))


@dataclass(frozen=True, slots=True)
class Servo(Law):
    """The effort k(x̃ − x) + c(ṽ − ẋ), with ẋ = (x − xₙ)/h, cut off at ±`max_effort`.

    φ = h²(k/2 (x − x̃)² + c/(2h) (x − xₙ − hṽ)²) = A/2 (x − a)² + …, A = h²k + hc, and linear where the mean effort of
    the step would exceed max_effort: a convex function with a continuous slope. The world moves the target of a step so
    that x̃ is approached with `acceleration`.
    """

    prefix: str = ""
    function: ClassVar[str] = "servo"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        own = f"{self.prefix}drive/"
        gains = Parameter(f"{own}stiffness", sign="≥ 0"), Parameter(f"{own}damping", sign="≥ 0")
        aims = Parameter(f"{own}target", reported=True), Parameter(f"{own}target_velocity")
        cap = Parameter(f"{own}max_effort", unbounded=True, sign="≥ 0")
        known = Parameter(start=True), Parameter(step=True)
        memory = Parameter(exerted=True), Parameter(value=1.0), Parameter(value=0.0), Parameter(value=0.0)
        return (*gains, *aims, *known, *self._speed, Parameter(inertia=True), cap, *memory)

    @property
    def _speed(self) -> tuple[Parameter, Parameter]:
        """The largest velocity, and the gain that keeps it."""
        return Parameter(value=math.inf), Parameter(value=0.0)

    @property
    def acceleration(self) -> str:
        """The attribute with the acceleration."""
        return f"{self.prefix}drive/acceleration"

    @property
    def effort(self) -> str:
        return f"{self.prefix}drive/effort"


@dataclass(frozen=True, slots=True)
class SpeedServo(Servo):
    """A servo whose effort is held between `brake`·(±`max_velocity` − ẋ) before it is cut off."""

    @property
    def _speed(self) -> tuple[Parameter, Parameter]:
        own = f"{self.prefix}drive/"
        return Parameter(f"{own}max_velocity", unbounded=True, sign="≥ 0"), Parameter(f"{own}brake", sign="≥ 0")


@dataclass(frozen=True, slots=True)
class Damper(Law):
    """φ = hc/2 (x − xₙ)²: the effort −c ẋ."""

    prefix: str = ""
    function: ClassVar[str] = "damping"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        damping = Parameter(f"{self.prefix}damper/damping", sign="≥ 0")
        return (damping, Parameter(start=True), Parameter(step=True))

    @property
    def effort(self) -> str:
        return f"{self.prefix}damper/effort"


@dataclass(frozen=True, slots=True)
class Drag(Law):
    """A `Damper` that tells no effort: one of several that share their attributes."""

    prefix: str = ""
    function: ClassVar[str] = "damping"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return Damper(self.prefix).parameters


@dataclass(frozen=True, slots=True)
class DryFriction(Law):
    """φ = h²f (|x − xₙ| − ε/2) where |x − xₙ| > ε = h·eps_velocity, h²f (x − xₙ)²/(2ε) below: the effort −f sign ẋ."""

    prefix: str = ""
    function: ClassVar[str] = "dry_friction"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        own = f"{self.prefix}friction/"
        numbers = Parameter(f"{own}max_effort", sign="≥ 0"), Parameter(f"{own}eps_velocity", sign="> 0")
        return (*numbers, Parameter(start=True), Parameter(step=True))

    @property
    def effort(self) -> str:
        return f"{self.prefix}friction/effort"


@dataclass(frozen=True, slots=True)
class Elastic(Law):
    """φ = h²k/2 (x − x̃)²: the effort −k (x − x̃) of a spring that is at rest at x̃."""

    prefix: str = ""
    function: ClassVar[str] = "elastic"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        own = f"{self.prefix}spring/"
        return (Parameter(f"{own}stiffness", sign="≥ 0"), Parameter(f"{own}rest", reported=True), Parameter(step=True))

    @property
    def effort(self) -> str:
        return f"{self.prefix}spring/effort"


@dataclass(frozen=True, slots=True)
class Armature(Law):
    """φ = c a/2 (x − x̃)²: the kinetic energy ½ a ẋ² as the integrator has it, with its weight c and prediction x̃."""

    prefix: str = ""
    function: ClassVar[str] = "armature"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        memory = (Parameter(value=0.0),) * 4
        return (Parameter(f"{self.prefix}armature/inertia", sign="≥ 0"), Parameter(predicted=True), *memory)
