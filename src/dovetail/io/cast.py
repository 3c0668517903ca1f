"""Who plays: the bodies, joints and planes of a world, told once by a recording's header or by the world itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.io.colors import Color, default_color
from dovetail.io.recorded import Columns, FrameLayout, Look, RecordedBody, RecordedJoint, RecordedPlane, RecordedShape
from dovetail.typing import Array

__all__ = ["Cast"]


class Cast:
    """Bodies, joints and planes as a document (see docs/recordings.md) and surfaces describe them.

    shapes, bodies, joints, planes
    layout       how a frame is laid out
    places       group and number in it of every joint
    energies     names of the energies
    dt, gravity  time step at the start [s], [m/s²]
    d_hat        distance below which surfaces repel [m]

    A document that makes no sense raises ValueError, KeyError, TypeError or IndexError.
    """

    def __init__(self, document: dict[str, Any], shapes: list[RecordedShape]) -> None:
        self.shapes = shapes
        self.bodies = [
            RecordedBody(
                str(entry["name"]),
                shapes[entry["shape"]],
                _color(entry["color"], k, bool(entry["fixed"])),
                bool(entry["fixed"]),
                float(entry["mass"]),
                _array(entry["mass_center"], 3),
                _looks(entry, shapes),
            )
            for k, entry in enumerate(document["bodies"])
        ]
        self.planes = [
            RecordedPlane(str(entry["name"]), _array(entry["point"], 3), _array(entry["normal"], 3))
            for entry in document["planes"]
        ]
        groups = [
            Columns(int(group["joints"]), tuple((str(name), int(size)) for name, size in group["columns"]))
            for group in document["groups"]
        ]
        if any(group.joints < 0 or any(size < 1 for _, size in group.names) for group in groups):
            raise ValueError("a group of joints has a negative size")
        if sum(group.joints for group in groups) != len(document["joints"]):
            raise ValueError(f"the groups do not have {len(document['joints'])} joints together")
        self.energies = [str(name) for name in document["energies"]]
        self.layout = FrameLayout(len(self.bodies), tuple(groups), len(self.energies))
        self.places = [(g, k) for g, group in enumerate(groups) for k in range(group.joints)]
        self.joints = [
            self._joint(entry, groups[g]) for entry, (g, _) in zip(document["joints"], self.places, strict=True)
        ]
        self.dt = float(document["dt"])
        self.gravity = _array(document["gravity"], 3)
        self.d_hat = float(document["d_hat"])

    def _joint(self, entry: dict[str, Any], group: Columns) -> RecordedJoint:
        left, right = int(entry["left"]), int(entry["right"])
        if not (0 <= left < len(self.bodies) and 0 <= right < len(self.bodies)):
            raise ValueError(f"joint '{entry['name']}' connects bodies {left} and {right} of {len(self.bodies)}")
        limit = entry["limit"]
        return RecordedJoint(
            name=str(entry["name"]),
            kind=str(entry["kind"]),
            left=left,
            right=right,
            left_anchor=_array(entry["left_anchor"], 3),
            right_anchor=_array(entry["right_anchor"], 3),
            left_frame=_array(entry["left_frame"], 9).reshape(3, 3),
            right_frame=_array(entry["right_frame"], 9).reshape(3, 3),
            has_axis=bool(entry["has_axis"]),
            coordinate=str(entry["coordinate"]),
            unit=str(entry["unit"]),
            limit=None if limit is None else (float(limit[0]), float(limit[1])),
            columns=tuple(name for name, _ in group.names),
        )

    def joint_states(self, rows: list[Array]) -> list[dict[str, float | Array]]:
        """Named values of every joint from the rows of a frame, one array per group."""
        return [self.layout.groups[g].split(rows[g][k]) for g, k in self.places]


def _array(values: Any, size: int) -> Array:
    array = np.array(values, float).ravel()
    if array.shape != (size,):
        raise ValueError(f"{values!r} are not {size} numbers")
    return array


def _looks(entry: dict[str, Any], shapes: list[RecordedShape]) -> tuple[Look, ...]:
    """Those of a body; recordings of earlier versions have none."""
    given = entry.get("looks") or [{"shape": entry["shape"], "color": None}]
    return tuple(Look(shapes[look["shape"]], _own_color(look["color"])) for look in given)


def _own_color(given: Any) -> Color | None:
    if given is None:
        return None
    red, green, blue = _array(given, 3).tolist()
    return red, green, blue


def _color(given: Any, index: int, fixed: bool) -> Color:
    return _own_color(given) or default_color(index, fixed)
