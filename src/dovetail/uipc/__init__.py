"""libuipc's Python scripts, unchanged: `python -m dovetail.uipc [--headless N] script.py [arguments]`.

run.py           runs a script as `python script.py` would, with the modules below in place
names/           the modules `uipc`, `uipc.core`, `uipc.geometry`, … by the names libuipc documents
scene, world, engine, constitution, files
                 dovetail's classes where libuipc's behave differently: joint angles count turns, a step or an
                 animation that fails is logged, older call forms
deformable.py    names of what dovetail does not simulate; they say so when they are used
standin/         a `polyscope` without a window, for --headless
session.py       what the script did: frames, time, what went wrong
"""

from __future__ import annotations

from dovetail.uipc.runner import run

__all__ = ["run"]
