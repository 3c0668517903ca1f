"""Play, pause, step, reset, speed, what is drawn, and what the solver is doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.viewer.history import QUANTITIES, History
from dovetail.viewer.panel import Post, by_hand
from dovetail.viewer.source import Moment, Played, Running
from dovetail.viewer.stage import Stage, bounds_of
from dovetail.viewer.text import as_text

if TYPE_CHECKING:
    import viser

    from dovetail.viewer.viewer import Viewer

__all__ = ["RunPanel"]

_LONGEST_COMPLAINT = 1000  # characters
_SWITCHES = (
    ("Joints", True),
    ("Joint frames", False),
    ("Contacts", False),
    ("Body names", False),
    ("Joint names", False),
    ("X-ray", False),
)


class RunPanel:
    """The first page of the control panel. `rate` is how many steps were made per second lately."""

    def __init__(self, gui: viser.GuiApi, viewer: Viewer, stage: Stage, source: Running | Played, post: Post) -> None:
        self._viewer, self._source = viewer, source
        self.rate = 0.0
        self._play = gui.add_button("Pause" if viewer.playing else "Play")
        row = gui.add_button_group("", ("Step", "Reset", "Fit view"))
        self._speed = gui.add_slider("Speed [×]", 0.05, 4.0, 0.05, min(max(viewer.speed, 0.05), 4.0))
        self._timeline: Any = None
        if isinstance(source, Played):
            self._timeline = gui.add_slider("Frame", 0, max(source.frames - 1, 1), 1, source.at)
            by_hand(self._timeline, post, self._seek)
        if viewer.may_pull:
            pull = gui.add_checkbox(
                "Drag to pull", False, hint="Drag a body to pull it; with a mouse also with Ctrl held"
            )
            by_hand(pull, post, viewer.pull_by_dragging)
        with gui.add_folder("Show"):
            for name, on in _SWITCHES:
                self._add_switch(gui, name, on, stage, post)
                stage.switch(name.lower(), on)
        self._status = gui.add_markdown("")
        self._play.on_click(lambda _: post(self._toggle))
        row.on_click(lambda event: self._pressed(str(event.target.value), stage, post))
        by_hand(self._speed, post, self._set_speed)

    def _add_switch(self, gui: viser.GuiApi, name: str, on: bool, stage: Stage, post: Post) -> None:
        box = gui.add_checkbox(name, on)

        def switch(on: bool) -> None:
            stage.switch(name.lower(), on)
            self._viewer.refresh()

        by_hand(box, post, switch)

    def _toggle(self) -> None:
        if not self._viewer.playing and isinstance(self._source, Played) and self._source.at + 1 == self._source.frames:
            self._viewer.reset()
        self._viewer.playing = not self._viewer.playing
        self._label()

    def _label(self) -> None:
        label = "Pause" if self._viewer.playing else "Play"
        if self._play.label != label:
            self._play.label = label

    def _pressed(self, what: str, stage: Stage, post: Post) -> None:
        post(lambda: self._act(what, stage))

    def _act(self, what: str, stage: Stage) -> None:
        if what == "Fit view":
            stage.aim(bounds_of(stage.cast, self._source.moment().transforms))
        elif what == "Reset":
            self._viewer.reset()
        else:
            self._viewer.playing = False
            self._viewer.step()

    def _set_speed(self, speed: float) -> None:
        self._viewer.speed = float(speed)

    def _seek(self, frame: int) -> None:
        assert isinstance(self._source, Played)
        self._viewer.playing = False
        self._source.seek(int(frame))
        self._viewer.refresh()

    def show(self, moment: Moment, history: History) -> None:
        self._label()
        if isinstance(self._source, Played) and self._timeline.value != self._source.at:
            self._timeline.value = self._source.at
        gaps = history.numbers(moment)[:, QUANTITIES.index("gap")]
        lines = [
            f"frame {moment.frame}, t = {moment.time:.3f} s",
            f"{self.rate:.0f} steps/s, {moment.iterations} Newton iterations",
            f"{len(moment.contacts.normal_force)} contacts, largest joint gap {gaps.max(initial=0.0):.1e} m",
        ]
        if self._viewer.complaint:
            lines.append(f"**Stopped:** {as_text(self._viewer.complaint, _LONGEST_COMPLAINT)}")
        self._status.content = "  \n".join(lines)
