"""One body: its numbers, colour and visibility."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.viewer.history import History
from dovetail.viewer.panel import Post, by_hand, spell
from dovetail.viewer.source import Moment
from dovetail.viewer.stage import Stage
from dovetail.viewer.text import as_label, as_text

if TYPE_CHECKING:
    import viser

__all__ = ["BodyPanel"]


class BodyPanel:
    """One body: its numbers, colour and visibility; chosen from the list or by a click on it."""

    def __init__(
        self, gui: viser.GuiApi, stage: Stage, rates: Callable[[], Any] | None, post: Post, may_pull: bool
    ) -> None:
        self._stage, self._rates = stage, rates
        self._names = [as_label(f"{k} {body.name}") for k, body in enumerate(stage.cast.bodies)]
        self._list: Any = gui.add_dropdown("Body", ("none", *self._names))
        self._colour: Any = gui.add_rgb("Colour", (128, 128, 128), disabled=True)
        self._visible: Any = gui.add_checkbox("Visible", True, disabled=True)
        self._follow: Any = gui.add_checkbox("Camera follows", False, disabled=True)
        others = gui.add_button_group("Others", ("hide", "show"))
        self._numbers = gui.add_markdown("Click a body.")
        if may_pull:
            gui.add_markdown("To pull a body, hold Ctrl and drag it, or switch on *Drag to pull*.")
        by_hand(self._list, post, self._mark)
        by_hand(self._colour, post, self._paint)
        by_hand(self._visible, post, self._hide)
        by_hand(self._follow, post, self._go_along)
        others.on_click(lambda event: self._pressed(event.target.value == "show", post))

    def choose(self, body: int) -> None:
        """Mark a body."""
        self._list.value = self._names[body]
        self._mark(self._names[body])

    def _mark(self, name: str) -> None:
        body = None if name == "none" else self._names.index(name)
        self._stage.selected = body
        self._colour.disabled = self._visible.disabled = self._follow.disabled = body is None
        self._follow.value = body is not None and body == self._stage.followed
        if body is None:
            self._numbers.content = "Click a body."
        else:
            red, green, blue = np.round(255 * self._stage.colours[body]).astype(int).tolist()
            self._colour.value = (red, green, blue)
            self._visible.value = bool(self._stage.visible[body])
        self._stage.restyle()

    def _paint(self, colour: tuple[int, int, int]) -> None:
        if self._stage.selected is not None:
            self._stage.colours[self._stage.selected] = np.array(colour) / 255
            self._stage.restyle()

    def _hide(self, visible: bool) -> None:
        if self._stage.selected is not None:
            self._stage.visible[self._stage.selected] = visible
            self._stage.restyle()

    def _go_along(self, on: bool) -> None:
        self._stage.followed = self._stage.selected if on else None

    def _pressed(self, on: bool, post: Post) -> None:
        post(lambda: self._others(on))

    def _others(self, on: bool) -> None:
        chosen = self._stage.selected
        mine = True if chosen is None else bool(self._stage.visible[chosen])
        self._stage.visible[:] = on or chosen is None
        if chosen is not None:
            self._stage.visible[chosen] = mine
        self._stage.restyle()

    def show(self, moment: Moment, history: History) -> None:
        number = self._stage.selected
        if number is None:
            return
        body, T = self._stage.cast.bodies[number], moment.transforms[number]
        centre = T[:3, :3] @ body.mass_center + T[:3, 3]
        lines = [
            f"**{as_text(body.name)}**" + (", fixed" if body.fixed else ""),
            f"mass {body.mass:.4g} kg",
            f"centre {spell(centre)} m",
        ]
        if self._rates is not None:
            _, V = self._rates()
            W = V[number, :3, :3] @ np.linalg.inv(T[:3, :3])
            spin = np.linalg.norm([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2
            speed = np.linalg.norm(V[number, :3, :3] @ body.mass_center + V[number, :3, 3])
            lines += [f"speed {speed:.4g} m/s", f"turns at {spin:.4g} rad/s"]
        stretch = np.linalg.svd(T[:3, :3], compute_uv=False)
        lines.append(f"stretch {stretch.min():.6g} to {stretch.max():.6g}")
        self._numbers.content = "  \n".join(lines)
