"""What all parts of the control panel share: they follow the picture, and post what a hand does.

Callbacks of the page come in threads of their own. They only `post` what is to be done; the viewer does it between two
frames, so that nothing ever changes while a step is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np

from dovetail.viewer.history import History
from dovetail.viewer.source import Moment

__all__ = ["Panel", "Post", "by_hand", "spell"]

Post: TypeAlias = Callable[[Callable[[], None]], None]
"""Takes what is to be done between two frames."""


class Panel(Protocol):
    """A part of the control panel that follows what is shown."""

    def show(self, moment: Moment, history: History) -> None:
        """Bring numbers and curves up to date; called a few times a second."""


def by_hand(widget: Any, post: Post, act: Callable[[Any], None]) -> None:
    """Post `act` with the new value when somebody changes a widget on the page; not when the viewer itself does.

    The value is taken now: until `act` is called the viewer may have written another one into the widget.
    """

    def changed(event: Any) -> None:
        if event.client is not None:
            value = event.target.value
            post(lambda: act(value))

    widget.on_update(changed)


def spell(numbers: Any) -> str:
    """Numbers with four digits."""
    return ", ".join(f"{x:.4g}" for x in np.asarray(numbers, float) + 0.0)
