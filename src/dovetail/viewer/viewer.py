"""The viewer: a page in a browser that shows a running world or a recording, and lets one take part."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dovetail.core import World
from dovetail.errors import DovetailError, ViewerError
from dovetail.io.recording import Recording
from dovetail.logger import Logger
from dovetail.viewer.body_panel import BodyPanel
from dovetail.viewer.history import History
from dovetail.viewer.joint_panel import JointPanel
from dovetail.viewer.panel import Panel
from dovetail.viewer.plot_panel import PlotPanel
from dovetail.viewer.pull import Pull
from dovetail.viewer.run_panel import RunPanel
from dovetail.viewer.server import LOCAL, PORT, close_server, open_server
from dovetail.viewer.source import Played, Running, joint_offsets
from dovetail.viewer.stage import Stage
from dovetail.viewer.steering import Steering, controls

if TYPE_CHECKING:
    import viser

__all__ = ["Viewer"]

_PICTURES = 30.0  # per second
_PANELS = 5.0  # updates of numbers and curves per second
_IDLE = 0.05  # s; how long an idle viewer waits for something to do


class Viewer:
    """Shows a world that was initialised, or a recording, at `url`.

        viewer = Viewer(world)
        viewer.run()                 # until Ctrl-C; or viewer.start(), to go on in the background

    The world is stepped by the viewer, `speed` times as fast as real time or as fast as it can. Between steps your
    program may change attributes of the scene as always. In a notebook the viewer shows itself. It listens to this
    machine alone unless `host` says otherwise.

    wait         do not run before a browser looks, so that the beginning is not missed
    title        of the page
    """

    def __init__(
        self,
        shown: World | Recording | str | PathLike[str],
        *,
        host: str = LOCAL,
        port: int = PORT,
        playing: bool = True,
        speed: float = 1.0,
        wait: bool = True,
        title: str | None = None,
    ) -> None:
        self._source = _source(shown)
        self._looked_at = threading.Event()
        if not wait:
            self._looked_at.set()
        self.playing = playing
        self.speed = speed
        self._todo: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._pictured = self._listed = 0.0
        self._due = self._before = 0.0
        self._steps = 0
        self.complaint = ""
        """The error that stopped the world, if one did."""
        self._server = open_server(host, port, self._source.title if title is None else title)
        try:
            self._build()
        except BaseException:
            close_server(self._server)
            raise

    def _build(self) -> None:
        source, server = self._source, self._server
        cast, moment = source.cast, source.moment()
        self._moment = moment
        self._history = History(cast)
        self._stage = Stage(server, cast, moment.transforms, joint_offsets(cast.joint_states(moment.joints)))
        self._stage.aim()
        self._steering: Steering | None = None
        self._pull: Pull | None = None
        self._panels: list[Panel] = []
        self._drags: list[tuple[Any, Any]] = []
        server.gui.main_panel.dock_right()
        tabs = server.gui.add_tab_group()
        with tabs.add_tab("Run"):
            self._run_panel = RunPanel(server.gui, self, self._stage, source, self.post)
            self._panels.append(self._run_panel)
        if isinstance(source, Running):
            self._steering, self._pull = Steering(source.world, cast), Pull(source)
            with tabs.add_tab("Joints"):
                found = controls(cast, self._stage.bounds)
                self._panels.append(JointPanel(server.gui, cast, self._steering, found, self.post))
        rates = source.velocities if isinstance(source, Running) else None
        with tabs.add_tab("Bodies"):
            self._body_panel = BodyPanel(server.gui, self._stage, rates, self.post, self._pull is not None)
            self._panels.append(self._body_panel)
        with tabs.add_tab("Plots"):
            self._panels.append(PlotPanel(server.gui, cast))
        self._spring = server.scene.add_line_segments(
            "/pull", np.zeros((0, 2, 3), np.float32), (30, 30, 30), thickness=0.004 * self._stage.bounds.size
        )
        for batch in self._stage.batches:
            self._listen(batch.handle, batch.numbers)
        self._show(everything=True)
        server.on_client_connect(self._welcome)

    def _welcome(self, client: viser.ClientHandle) -> None:
        """Somebody looks."""

        def begin() -> None:
            self._stage.aim_for(client)
            client.camera.on_update(lambda camera: self.post(lambda: self._stage.aim_again(client)))
            self._looked_at.set()

        self.post(begin)

    def _listen(self, handle: Any, numbers: Any) -> None:
        """Choose a body by a click, and pull it with Ctrl held, or without where dragging is to pull."""

        def clicked(event: Any) -> None:
            body = int(numbers[event.instance_index or 0])
            self.post(lambda: self._body_panel.choose(body))

        handle.on_click(clicked)
        pull = self._pull
        if pull is None:
            return

        async def dragged(event: Any) -> None:  # awaited one by one, so that the end of a drag is not overtaken
            body = int(numbers[event.instance_index or 0])
            start, end = np.array(event.start_position), np.array(event.end_position)
            if event.phase == "start":
                self.post(lambda: pull.grab(body, start))
            elif event.phase == "end":
                self.post(pull.release)
            self.post(lambda: pull.move(end))

        handle.on_drag("left", modifier="cmd/ctrl")(dragged)
        self._drags.append((handle, dragged))

    def pull_by_dragging(self, on: bool) -> None:
        """Whether a body is pulled by dragging it with a finger or the mouse alone; else that turns the view."""
        for handle, dragged in self._drags:
            handle.remove_drag_callback("all")
            for modifier in ("cmd/ctrl", None) if on else ("cmd/ctrl",):
                handle.on_drag("left", modifier=modifier)(dragged)

    @property
    def may_pull(self) -> bool:
        """Whether there is a world whose bodies can be pulled."""
        return isinstance(self._source, Running)

    # --- for programs -------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where to point a browser."""
        host = self._server.get_host()
        return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{self._server.get_port()}"

    def post(self, act: Callable[[], None]) -> None:
        """Have something done between two frames; may be called from any thread."""
        self._todo.put(act)

    def step(self) -> None:
        """Go on by one frame, also when paused."""
        self._advance()
        self._show(everything=not self.playing)

    def refresh(self) -> None:
        """Show the present frame again, after something about it was changed."""
        self._due = self._source.time
        self._show(everything=True)

    def reset(self) -> None:
        """Go back to the frame at which looking began; targets and forces set by hand are let go."""
        if self._pull is not None:
            self._pull.release()
        if self._steering is not None:
            self._steering.reset()
        self.complaint = ""
        self._source.reset()
        self._history.clear()
        self.refresh()

    def run(self) -> None:
        """Show until `close` is called or Ctrl-C is pressed."""
        if self._thread is not None:
            raise ViewerError("Viewer.run: it runs in the background already; call close() first.")
        try:
            self._loop()
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def start(self) -> Self:
        """Show in a thread of its own, until `close` is called."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="dovetail viewer", daemon=True)
            self._thread.start()
        return self

    def close(self) -> None:
        """Stop, and stop listening; a second call does nothing."""
        if self._closing.is_set():
            return
        self._closing.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        if self._pull is not None:
            self._pull.release()
        close_server(self._server)

    # --- the loop -----------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        self._before = time.perf_counter()
        self._due = self._source.time
        while not self._closing.is_set():
            self._obey(0.0 if self.playing and self._looked_at.is_set() else _IDLE)
            now = time.perf_counter()
            if self.playing and not self.complaint and self._looked_at.is_set():
                # a world that cannot keep up is not chased: what it is behind by more than a picture is forgotten
                self._due = min(self._due + (now - self._before) * self.speed, self._source.time + self.speed / 10)
                self._keep_up(now)
            else:
                self._due = self._source.time
            self._before = now

    def _keep_up(self, now: float) -> None:
        """Step until the time that is due, or until the next picture is."""
        moved = False
        while self.playing and self._source.time < self._due:
            if not self._advance():
                break
            moved = True
            if time.perf_counter() - now > 1.0 / _PICTURES:
                break
        if moved:
            self._show()
        else:
            self._obey(min(_IDLE, 0.25 / _PICTURES))

    def _obey(self, wait: float) -> None:
        """Do what was posted; if nothing was, wait a moment for it."""
        try:
            act = self._todo.get(timeout=wait) if wait else self._todo.get_nowait()
            while True:
                try:
                    act()
                except DovetailError as error:
                    self._complain(error)
                act = self._todo.get_nowait()
        except queue.Empty:
            pass

    def _advance(self) -> bool:
        """One frame; False where there is no further one or the world refuses, and then it is paused."""
        try:
            if self._pull is not None:
                self._pull.apply()
            if self._source.advance():
                self._steps += 1
                return True
        except DovetailError as error:
            self._complain(error)
        self.playing = False
        self._show(everything=True)
        return False

    def _complain(self, error: DovetailError) -> None:
        """Say what went wrong, on the page and in the log; the last good frame stays."""
        self.playing = False
        self.complaint = str(error)
        Logger.error(f"viewer: paused: {error}")

    def _show(self, everything: bool = False) -> None:
        """Bring the picture up to date, and less often the panels."""
        now = time.perf_counter()
        if now - self._pictured < 0.8 / _PICTURES and not everything:
            return
        try:
            self._moment = self._source.moment()
        except DovetailError as error:  # of what cannot be stepped there are no energies; the last moment stays
            self._complain(error)
        moment = self._moment
        self._stage.show(moment.transforms, moment.contacts)
        self._show_spring()
        self._history.add(moment)
        if everything or now - self._listed > 1.0 / _PANELS:
            self._run_panel.rate = self._steps / max(now - self._listed, 1e-9)
            self._steps, self._listed = 0, now
            for panel in self._panels:
                panel.show(moment, self._history)
        self._pictured = now

    def _show_spring(self) -> None:
        pulling = self._pull is not None and self._pull.body is not None
        if pulling or len(self._spring.points):
            ends = self._pull.ends()[None] if self._pull is not None and pulling else np.zeros((0, 2, 3))
            self._spring.points = ends.astype(np.float32)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Viewer of {self._source.name}, {'closed' if self._closing.is_set() else self.url}>"

    def _repr_html_(self) -> str:
        """The page itself, for notebooks."""
        if self._closing.is_set():
            return "<i>closed viewer</i>"
        return f'<iframe src="{self.url}" width="100%" height="560" style="border: 1px solid #ddd"></iframe>'


def _source(shown: Any) -> Running | Played:
    if isinstance(shown, World):
        return Running(shown)
    if isinstance(shown, Recording):
        return Played(shown)
    if isinstance(shown, (str, PathLike)):
        return Played(Recording(Path(shown)))
    raise ViewerError(
        f"view: expected a World, a Recording or the path of one, got {type(shown).__name__}; for a Sim use sim.view()."
    )
