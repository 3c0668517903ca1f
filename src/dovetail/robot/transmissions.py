"""Transmissions of a URDF file: a rotor of inertia J behind gears of ratio N is an inertia N²J of its joint.

    <transmission name="…">
      <joint name="elbow"/>
      <actuator name="motor">
        <mechanicalReduction>100</mechanicalReduction>     or <drake:gear_ratio value="100"/>; else 1
        <rotorInertia>2e-5</rotorInertia>                  or <rotor_inertia value="2e-5"/>, <drake:rotor_inertia …/>
      </actuator>
    </transmission>

ROS has no place for J, so most files give none: these are told, as are gears between several joints and motors. All
else, such as interfaces, is for controllers.
"""

from __future__ import annotations

from collections.abc import Callable

from dovetail.doctor.finding import warning
from dovetail.robot.description import RobotDescription
from dovetail.robot.xml import Element

__all__ = ["read_transmissions"]

_REDUCTIONS = ("mechanicalReduction", "drake:gear_ratio")
_INERTIAS = ("rotorInertia", "rotor_inertia", "drake:rotor_inertia")
_MOVING = ("revolute", "prismatic")


def read_transmissions(robot: RobotDescription, elements: list[Element], lines: Callable[[list[Element]], str]) -> None:
    """Give joints the inertia of their rotors; `lines` tells where elements are."""
    told: dict[str, list[Element]] = {}
    for element in elements:
        flaw = _read(robot, element)
        if flaw:
            told.setdefault(flaw, []).append(element)
    for flaw, where in told.items():
        robot.findings.append(warning(f"<transmission> {flaw} ({lines(where)}): no rotor's inertia is added", ""))


def _read(robot: RobotDescription, element: Element) -> str:
    """What is wrong with a transmission, "" if nothing is."""
    joints, actuators = ([child for child in element.children if child.tag == tag] for tag in ("joint", "actuator"))
    if len(joints) != 1 or len(actuators) != 1:
        return "is not between one joint and one actuator"
    inertia = _value(_INERTIAS, actuators[0], element)
    if inertia is None:
        return "gives no rotorInertia"
    joint = robot.joints.get(joints[0].text("name"))
    if joint is None or joint.kind not in _MOVING:
        return "is on a joint that does not turn or slide, or is not there"
    found = _value(_REDUCTIONS, actuators[0], joints[0], element)
    reduction = 1.0 if found is None else found
    if inertia < 0.0 or reduction == 0.0:
        element.refuse(f"the rotor of joint '{joint.name}' has the inertia {inertia:g} kg·m² behind a gear of ratio "
                       f"{reduction:g}; give an inertia ≥ 0 and a ratio that is not 0.")  # fmt: skip
    joint.armature += reduction * reduction * inertia
    return ""


def _value(tags: tuple[str, ...], *places: Element) -> float | None:
    """The first of these elements, as `value` or as what it contains; None where there is none."""
    found = next((child for place in places for child in place.children if child.tag in tags), None)
    return None if found is None else found.number("value", "".join(found.texts).strip() or None)
