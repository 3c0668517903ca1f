"""Sliders that set targets of drives and forces along joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.io.cast import Cast
from dovetail.viewer.history import History
from dovetail.viewer.panel import Post, by_hand
from dovetail.viewer.source import Moment
from dovetail.viewer.steering import Control, Steering
from dovetail.viewer.text import as_label

if TYPE_CHECKING:
    import viser

__all__ = ["JointPanel"]

_MOST_JOINTS = 64  # with sliders, which humanoids have; a page with more of them is slow


class JointPanel:
    """Sliders for targets of drives and for forces along joints, those that do something now.

    Where something can be switched, and is not on for good, there is a box for it.
    """

    def __init__(self, gui: viser.GuiApi, cast: Cast, steering: Steering, found: list[Control], post: Post) -> None:
        self._steering, self._post = steering, post
        self._folders: list[tuple[Any, list[tuple[Control, Any, Any]]]] = []
        if not found:
            gui.add_markdown("No joint has a drive, a force or a torque to set.")
        joints = list(dict.fromkeys(control.joint for control in found))
        for number in joints[:_MOST_JOINTS]:
            with gui.add_folder(as_label(cast.joints[number].name)) as folder:
                widgets = [(control, *self._add(gui, control)) for control in found if control.joint == number]
            self._folders.append((folder, widgets))
        if len(joints) > _MOST_JOINTS:
            gui.add_markdown(f"{len(joints) - _MOST_JOINTS} more joints have no sliders here; set their attributes.")

    def _add(self, gui: viser.GuiApi, control: Control) -> tuple[Any, Any]:
        """The box, if it can be switched, and the slider of a control."""
        steering, joint = self._steering, control.joint
        box: Any = None
        is_drive = control.switch.startswith("driving/")
        if control.switch and (is_drive or not steering.value(joint, control.switch)):
            name = "drive on" if is_drive else f"{control.label} on"
            box = gui.add_checkbox(as_label(name), bool(steering.value(joint, control.switch)))
            by_hand(box, self._post, lambda on: steering.hold(joint, control.switch, float(on)))
        lower, upper = float(control.lower), float(control.upper)
        step = (upper - lower) / 200 or 1.0
        value = float(np.clip(steering.value(joint, control.attribute), lower, upper))
        slider = gui.add_slider(as_label(f"{control.label} [{control.unit}]"), lower, upper, step, value)
        by_hand(slider, self._post, lambda x: steering.hold(joint, control.attribute, float(x)))
        return box, slider

    def show(self, moment: Moment, history: History) -> None:
        """Sliders follow what animations set, and come and go with what they do."""
        for folder, widgets in self._folders:
            for control, box, slider in widgets:
                matters = self._steering.matters(control)
                _set(slider, "visible", matters)
                if box is not None:
                    _set(box, "visible", matters)
                    _set(box, "value", bool(self._steering.value(control.joint, control.switch)))
                value = self._steering.value(control.joint, control.attribute)
                value = float(np.clip(value, control.lower, control.upper))
                if abs(slider.value - value) > 1e-9 * (abs(value) + 1):
                    slider.value = value
            _set(folder, "visible", any(slider.visible for _, _, slider in widgets))


def _set(widget: Any, name: str, value: Any) -> None:
    """Set a property of a widget, which is sent to the browser, where it is another one."""
    if getattr(widget, name) != value:
        setattr(widget, name, value)
