"""docs/robots_compared.md: a table for each package, a row for each file."""

from __future__ import annotations

from dataclasses import dataclass, field

from robots_compared.comparing import AGREES, STATICS

__all__ = ["CONTACT", "PACKAGES", "Row", "lines_of", "page", "retimed"]

PACKAGES = (
    "gymnasium", "gymnasium_robotics", "robosuite", "dm_control", "pybullet_data", "example_robot_data", "newton",
)  # fmt: skip
_HEAD = """# Robots compared

Written by `make robots`: robot files of public packages, MJCF beside MuJoCo, URDF beside Pinocchio, and USD beside its
own stage and MuJoCo, at the start and at random postures within limits, moving. Numbers are the largest differences: of
frames in m; of mass, mass matrix and torques (gravity and Coriolis) relative to the largest entry; of 0.5 s of falling
without drives, stops and dry friction, and of the response to a step of one drive's target, relative to the largest way
that a coordinate goes, in steps of 1 ms, links of κ = 10 GPa, of robots with up to 40 coordinates. Times are the least
of a step of 1 ms without contact, ours and MuJoCo's on the same links and joints, in µs. Where links have inertias that
no body can have, or none, the oracle is given those that they got instead, and their number is told. What the oracle
itself cannot read, or has no joints, is left out. Bodies between the joints of a body with several weigh a billionth of
it each; that is what is more than round-off in MJCF files. [How it is read](robots.md).
"""
_SINGLE = {"frames": 1e-4, "mass": 1e-6}
"""Numbers of USD are single floats, and joints of its files are closed to that, or 0.1 mm."""
_COLUMNS = (
    "| file | loads | bodies | joints | q | frames | mass | mass matrix | torques | fall | response | ours | MuJoCo "
    "| agrees |"
)
CONTACT = "With contact"
_CONTACT_HEAD = """
Steps of 10 ms with contact on, one thread: robots of `examples/robots`, and the Panda of example-robot-data with its
meshes as hulls, on the ground. Moving, targets of all joints are set before each step. Least and median of 200.

| file | least (µs) | median (µs) | iterations | steps a second, at the least | at the median |
|---|---|---|---|---|---|
"""


@dataclass
class Row:
    """What became of a file."""

    package: str
    name: str
    bodies: int = 0
    joints: int = 0
    coordinates: int = 0
    refused: str = ""
    reason: str = ""
    """Why not all of it was compared."""
    compared: tuple[str, ...] = STATICS
    """What has to be there, and to agree."""
    given: int = 0
    """Links whose inertia was changed, in the oracle too."""
    errors: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def agrees(self) -> bool:
        bars = AGREES | (_SINGLE if self.name.endswith((".usd", ".usda", ".usdc")) else {})
        known = all(key in self.errors for key in self.compared)
        return known and all(self.errors[key] <= bar for key, bar in bars.items() if key in self.errors)

    @property
    def line(self) -> str:
        if self.refused:
            return f"| {self.name} | no | | | | refused: {self.refused} | | | | | | | | no |"
        parts = [f"{self.errors[key]:.0e}" if key in self.errors else "" for key in AGREES]
        parts += [f"{1e6 * self.errors[key]:.0f}" if key in self.errors else "" for key in ("step", "theirs")]
        verdict = "yes" if self.agrees else "no"
        if self.given:
            verdict = f"with {self.given} inertias given: {verdict}"
        if self.reason:
            verdict = (
                f"{self.reason}: {verdict if all(key in self.errors for key in self.compared) else 'not compared'}"
            )
        counts = " | ".join(str(count or "") for count in (self.bodies, self.joints, self.coordinates))
        return f"| {self.name} | yes | {counts} | {' | '.join(parts)} | {verdict} |"


def lines_of(text: str) -> dict[str, dict[str, str]]:
    """Of a page, its rows by package and file."""
    tables: dict[str, dict[str, str]] = {}
    for part in text.split("\n## ")[1:]:
        package, *lines = part.split("\n")
        known = [line for line in lines if line.startswith("| ") and not line.startswith("| file |")]
        tables[package] = {line.split(" | ")[0][2:]: line for line in known}
    return tables


def retimed(line: str, times: dict[str, float]) -> str:
    """A row with other times of a step."""
    cells = line.split(" | ")
    cells[-3:-1] = [f"{1e6 * times[key]:.0f}" for key in ("step", "theirs")]
    return " | ".join(cells)


def page(tables: dict[str, dict[str, str]]) -> str:
    """The page with these rows."""
    found = _HEAD
    for package in (name for name in PACKAGES if name in tables):
        mine = [tables[package][name] for name in sorted(tables[package])]
        load, agree = (sum("| refused: " not in line for line in mine), sum(line.endswith("yes |") for line in mine))
        found += f"\n## {package}\n\nOf {len(mine)} files {load} load, and {agree} agree.\n\n"
        found += "\n".join([_COLUMNS, "|---" * (_COLUMNS.count("|") - 1) + "|", *mine]) + "\n"
    if CONTACT in tables:
        found += f"\n## {CONTACT}\n{_CONTACT_HEAD}" + "\n".join(tables[CONTACT].values()) + "\n"
    return found
