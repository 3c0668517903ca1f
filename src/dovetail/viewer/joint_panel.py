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

_MOST_JOINTS = 24  # with sliders; a page with more of them is slow and nobody finds anything in it


class JointPanel:
    """Sliders for targets of drives and for forces along joints, each with the box that switches it on."""

    def __init__(self, gui: viser.GuiApi, cast: Cast, steering: Steering, found: list[Control], post: Post) -> None:
        self._steering, self._post = steering, post
        self._widgets: list[tuple[Control, Any, Any]] = []
        if not found:
            gui.add_markdown("No joint has a drive, a force or a torque to set.")
        joints = list(dict.fromkeys(control.joint for control in found))
        for number in joints[:_MOST_JOINTS]:
            with gui.add_folder(as_label(cast.joints[number].name)):
                for control in (c for c in found if c.joint == number):
                    self._widgets.append((control, *self._add(gui, control)))
        if len(joints) > _MOST_JOINTS:
            gui.add_markdown(f"{len(joints) - _MOST_JOINTS} more joints have no sliders here; set their attributes.")

    def _add(self, gui: viser.GuiApi, control: Control) -> tuple[Any, Any]:
        """The box, if it can be switched, and the slider of a control."""
        steering, joint = self._steering, control.joint
        box: Any = None
        if control.switch:
            box = gui.add_checkbox(as_label(f"{control.label} on"), bool(steering.value(joint, control.switch)))
            by_hand(box, self._post, lambda on: steering.hold(joint, control.switch, float(on)))
        lower, upper = float(control.lower), float(control.upper)
        step = (upper - lower) / 200 or 1.0
        value = float(np.clip(steering.value(joint, control.attribute), lower, upper))
        slider = gui.add_slider(as_label(f"{control.label} [{control.unit}]"), lower, upper, step, value)
        by_hand(slider, self._post, lambda x: steering.hold(joint, control.attribute, float(x)))
        return box, slider

    def show(self, moment: Moment, history: History) -> None:
        """Sliders follow what animations set."""
        for control, box, slider in self._widgets:
            if box is not None:
                on = bool(self._steering.value(control.joint, control.switch))
                if box.value != on:
                    box.value = on
            value = float(np.clip(self._steering.value(control.joint, control.attribute), control.lower, control.upper))
            if abs(slider.value - value) > 1e-9 * (abs(value) + 1):
                slider.value = value
