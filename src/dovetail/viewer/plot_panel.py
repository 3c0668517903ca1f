"""Curves of a joint and of the energies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.io.cast import Cast
from dovetail.viewer.history import History
from dovetail.viewer.panel import spell
from dovetail.viewer.source import Moment
from dovetail.viewer.text import as_label, as_text

if TYPE_CHECKING:
    import viser

__all__ = ["PlotPanel"]

_MOST_POINTS = 400  # of a curve
_COLOURS = ("#3b6fb6", "#d9722b", "#4c9a57", "#b8447a")


class PlotPanel:
    """Curves of one joint, its numbers, and the energies."""

    def __init__(self, gui: viser.GuiApi, cast: Cast) -> None:
        self._gui, self._cast = gui, cast
        self._names = [as_label(f"{k} {joint.name}") for k, joint in enumerate(cast.joints)]
        self._list = gui.add_dropdown("Joint", tuple(self._names)) if self._names else None
        self._charts = {}
        if self._list is not None:
            self._charts = {name: self._chart(name, (name,)) for name in ("coordinate", "reaction")}
            self._table = gui.add_markdown("")
        self._energy_names = ("kinetic", "potential", "friction")
        self._charts["energy"] = self._chart("energy [J]", self._energy_names)

    def _chart(self, title: str, curves: tuple[str, ...]) -> Any:
        from viser import uplot

        series = [uplot.Series(label="t [s]")]
        series += [uplot.Series(label=c, stroke=k, width=2) for c, k in zip(curves, _COLOURS, strict=False)]
        empty = tuple(np.zeros(0) for _ in series)
        scales = {"x": uplot.Scale(time=False)}
        return self._gui.add_uplot(empty, tuple(series), title=title, scales=scales, aspect=1.9)

    def show(self, moment: Moment, history: History) -> None:
        thin = slice(None, None, max(1, -(-len(history.times) // _MOST_POINTS)))
        times = history.times[thin]
        if self._list is not None:
            number = self._names.index(self._list.value)
            joint = self._cast.joints[number]
            what = f"{joint.coordinate} [{joint.unit}]" if joint.coordinate else "gap [m]"
            for name, title, quantity in (
                ("coordinate", as_label(f"{joint.name}: {what}"), "coordinate" if joint.coordinate else "gap"),
                ("reaction", as_label(f"{joint.name}: reaction [N]"), "reaction"),
            ):
                chart = self._charts[name]
                if chart.title != title:
                    chart.title = title
                chart.data = (times, history.joint(number, quantity)[thin])
            self._table.content = _table(self._cast.joint_states(moment.joints)[number])
        kinetic, potential, friction = (0.0 * times for _ in range(3))
        for name in self._cast.energies:
            values = history.energy(name)[thin]
            if name == "kinetic":
                kinetic = values
            elif name == "friction_dissipated":
                friction = values
            else:
                potential = potential + values
        self._charts["energy"].data = (times, kinetic, potential, friction)


def _table(state: dict[str, Any]) -> str:
    """Every number that a joint reports."""
    rows = [f"| {as_text(name)} | {spell(np.atleast_1d(value))} |" for name, value in state.items()]
    return "\n".join(["| | |", "|---|---|", *rows])
