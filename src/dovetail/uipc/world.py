"""Worlds as libuipc has them: a step that cannot be computed makes the world invalid instead of raising."""

from __future__ import annotations

import time

from dovetail.errors import SolverError, WorldError
from dovetail.logger import Logger
from dovetail.scene import Scene
from dovetail.uipc.engine import Engine, PyIEngine
from dovetail.uipc.session import session
from dovetail.world.features import FeatureCollection
from dovetail.world.world import World as PlainWorld

__all__ = ["World"]


class World(PlainWorld):
    """A running simulation that tells the session how it fares.

    Once it is invalid, `advance`, `sync`, `retrieve`, `dump` and `recover` log an error and do nothing.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._given: Scene | None = None
        self._failure = ""

    @property
    def scene(self) -> Scene:
        """What `init` was given."""
        if self._given is None:
            raise WorldError("World.scene: there is none yet; call World.init(scene) first.")
        return self._given

    @property
    def _override(self) -> PyIEngine | None:
        return getattr(self.engine, "overrider", None)

    def init(self, scene: Scene) -> None:
        if self._given is not None:
            return
        override = self._override
        if override is None:
            super().init(scene)
            if not super().is_valid():
                self._fail("the scene did not pass its sanity checks")
        else:
            scene.validate_config()
            override.attach(self)
        self._given = scene
        session.worlds += 1
        if override is not None:
            override.do_init()

    def advance(self) -> None:
        if not self._is_running("advance"):
            session.idle += 1
            if session.is_stuck:
                raise WorldError(
                    f"World.advance: the world is invalid ({self._failure}) and was advanced {session.idle} times all "
                    "the same, so that the script would never end; check world.is_valid() in its loop."
                )
            return
        start = time.perf_counter()
        try:
            if self._override is not None:
                self._override.do_advance()
            else:
                super().advance()
        except SolverError as error:
            self._fail(str(error))
            Logger.error(f"{error} The world is invalid now.")
            return
        session.stepped(self.frame(), time.perf_counter() - start)

    def sync(self) -> None:
        if not self._is_running("sync"):
            return
        if self._override is not None:
            self._override.do_sync()
        else:
            super().sync()

    def retrieve(self) -> None:
        if not self._is_running("retrieve"):
            return
        if self._override is not None:
            self._override.do_retrieve()
        else:
            super().retrieve()

    def dump(self) -> bool:
        if not self._is_running("dump"):
            return False
        return super().dump() if self._override is None else self._override.do_dump()

    def recover(self, dst_frame: int | None = None) -> bool:
        if not self._is_running("recover"):
            return False
        if self._override is not None:
            done = self._override.do_recover(-1 if dst_frame is None else dst_frame)
        else:
            # 2⁶⁴ − 1 is libuipc's default and stands for the last frame there is
            done = super().recover(None if dst_frame is None or dst_frame >= 2**63 else dst_frame)
        if done:
            session.reached(self.frame())
        return done

    def frame(self) -> int:
        if self._failure:
            return 0
        return super().frame() if self._override is None else self._override.get_frame()

    def is_valid(self) -> bool:
        if self._failure:
            return False
        return super().is_valid() if self._override is None else self._given is not None

    def features(self) -> FeatureCollection:
        return super().features() if self._override is None else self._override.features()

    def _is_running(self, call: str) -> bool:
        if self._given is None:
            raise WorldError(f"World.{call}: call World.init(scene) first.")
        if self._failure:
            Logger.error(f"World.{call}: the world is invalid ({self._failure}), so there is nothing to do.")
        return not self._failure

    def _fail(self, why: str) -> None:
        self._failure = why
        session.failed(why)
