"""`view`: look at a world or a recording in one call."""

from __future__ import annotations

import sys
import webbrowser
from os import PathLike

from dovetail.core import World
from dovetail.io.recording import Recording
from dovetail.viewer.server import LOCAL, PORT, has_screen
from dovetail.viewer.viewer import Viewer

__all__ = ["view"]


def view(
    shown: World | Recording | str | PathLike[str],
    *,
    host: str = LOCAL,
    port: int = PORT,
    playing: bool = True,
    speed: float = 1.0,
    browser: bool = True,
    block: bool | None = None,
    wait: bool = True,
    title: str | None = None,
) -> Viewer:
    """Show a world that was initialised, or a recording, in a browser, and step or play it.

        world.init(scene)
        view(world)                  # until Ctrl-C

    In a script the call returns when Ctrl-C is pressed; in a notebook at once, and the last value of a cell is the
    page. `block` says it outright. `browser` opens a tab where there is a screen; the address is printed in any case.
    Nothing runs before a browser looks, unless `wait` is False. `title` is that of the page.
    """
    viewer = Viewer(shown, host=host, port=port, playing=playing, speed=speed, wait=wait, title=title)
    notebook = _in_notebook()
    try:
        if not notebook:
            print(f"dovetail viewer: {viewer.url}", flush=True)
            if browser and has_screen():
                webbrowser.open(viewer.url)
        if notebook if block is None else not block:
            return viewer.start()
        viewer.run()
    except KeyboardInterrupt:
        viewer.close()  # Ctrl-C before it ran
    return viewer


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules
