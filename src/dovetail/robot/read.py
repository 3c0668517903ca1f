"""Robot files of all kinds, by their ending."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from dovetail.checked import checked
from dovetail.errors import SceneError
from dovetail.robot.description import RobotDescription
from dovetail.robot.xml import read_xml

__all__ = ["ENDINGS", "read_robot"]

USD = (".usd", ".usda", ".usdc")
ENDINGS = (".urdf", ".xml", ".mjcf", *USD)


@checked(SceneError)
def read_robot(path: str | PathLike[str], folders: Sequence[str | PathLike[str]] = ()) -> RobotDescription:
    """What a robot's file says; nothing in it is executed, and nothing outside the robot's folders is read."""
    file = Path(path)
    if not file.is_file():
        raise SceneError(f"Sim.robot: there is no file '{file}'.")
    if file.suffix.lower() not in ENDINGS:
        raise SceneError(
            f"Sim.robot: '{file}' ends in '{file.suffix}'; robots are read from {', '.join(ENDINGS)} files."
        )
    if file.suffix.lower() in USD:
        from dovetail.robot.usd import read_usd

        return read_usd(file, folders)
    if file.suffix.lower() == ".urdf" or read_xml(file).tag == "robot":
        from dovetail.robot.urdf import read_urdf

        return read_urdf(file, folders)
    from dovetail.robot.mjcf import read_mjcf

    return read_mjcf(file, folders)
