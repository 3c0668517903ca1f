"""Animations: callbacks that write attributes of an object before each frame is computed."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeAlias, overload

from dovetail.checked import checked, shown
from dovetail.errors import AnimationError, SceneError
from dovetail.geometry.slot import GeometrySlot
from dovetail.logger import Logger
from dovetail.scene.object import Object

if TYPE_CHECKING:
    from dovetail.scene.scene import Scene

__all__ = ["Animation", "Animator", "begun"]


class _Begun:
    """Counts animations and recordings: who has seen that there is none need not look again before it has changed."""

    count = 0


begun = _Begun()


class UpdateHint:
    """Reserved by libuipc; carries nothing."""


class UpdateInfo:
    """What a callback is told: its object with its geometries, the frame being computed, the time step."""

    def __init__(self, object: Object, frame: int, dt: float) -> None:
        self._object = object
        self._frame = frame
        self._dt = dt

    def object(self) -> Object:
        return self._object

    def geo_slots(self) -> list[GeometrySlot]:
        """Slots of the object's geometries, in order of creation."""
        return [slot for slot, _ in self._object.geometries.pairs()]

    def rest_geo_slots(self) -> list[GeometrySlot]:
        """Slots of the rest shapes, in the same order."""
        return [rest for _, rest in self._object.geometries.pairs()]

    def frame(self) -> int:
        """The frame being computed: 1 in the first `World.advance`."""
        return self._frame

    def dt(self) -> float:
        """Time step [s]."""
        return self._dt

    def hint(self) -> UpdateHint:
        return UpdateHint()


Callback: TypeAlias = Callable[[UpdateInfo], Any]


class Animation:
    """One object's callback."""

    UpdateHint = UpdateHint
    UpdateInfo = UpdateInfo

    @checked(SceneError)
    def __init__(self, object: Object, callback: Callback) -> None:
        self._object = object
        self._callback = callback

    @property
    def callback(self) -> Callback:
        """The function that is called before each frame."""
        return self._callback

    def run(self, frame: int, dt: float) -> None:
        """Call the callback; an exception in it becomes an AnimationError that names object and frame."""
        try:
            self._callback(UpdateInfo(self._object, frame, dt))
        except Exception as error:
            raise AnimationError(
                f"animation of object '{self._object.name()}' failed in frame {frame}: {type(error).__name__}: {error}"
            ) from error

    def __repr__(self) -> str:
        return f"<Animation of '{self._object.name()}' by {self._callback!r}>"


class Animator:
    """The animations of a scene, at most one per object, run in order of object numbers.

    Unlike in libuipc they always run, whatever constitutions the scene has, and an exception in one stops the
    step and reaches the caller of `World.advance`.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._animations: dict[int, Animation] = {}
        self._substep = 1

    def __call__(self) -> Self:
        return self

    def insert(self, object: Object, callback: Callback) -> None:
        """Call `callback(info)` before each frame; see `Animation.UpdateInfo`."""
        if not isinstance(object, Object):
            raise SceneError(f"Animator.insert: expected an Object, got {type(object).__name__}.")
        if self._scene.objects.find(object.id()) is not object:
            raise SceneError(
                f"Animator.insert: object '{object.name()}' is not in this scene; create it with "
                "scene.objects.create(name)."
            )
        if not callable(callback):
            raise SceneError(
                f"Animator.insert: the animation of object '{object.name()}' must be a function of one "
                f"argument, got {type(callback).__name__}."
            )
        if object.id() in self._animations:
            raise SceneError(
                f"Animator.insert: object '{object.name()}' already has an animation; "
                f"call animator.erase({object.id()}) first, or do both in one function."
            )
        self._animations[object.id()] = Animation(object, callback)
        begun.count += 1

    @checked(SceneError)
    def erase(self, id: int) -> None:
        """Remove the animation of the object with this number."""
        if self._animations.pop(id, None) is None:
            Logger.warn(f"Animator.erase: object {id} has no animation; nothing to do.")

    @checked(SceneError)
    def find(self, id: int) -> Animation | None:
        """The animation of the object with this number, if it has one."""
        return self._animations.get(id)

    @overload
    def substep(self) -> int: ...
    @overload
    def substep(self, n: int) -> None: ...
    def substep(self, n: int | None = None) -> int | None:
        """Without argument: in how many parts a frame's targets are approached. With: set it (>= 1)."""
        if n is None:
            return self._substep
        try:
            count = operator.index(n)
        except TypeError:
            count = 0
        if count < 1:
            raise SceneError(f"Animator.substep: {shown(n)} is not a number of substeps; give an integer >= 1.")
        self._substep = count
        return None

    def animation_count(self) -> int:
        return len(self._animations)

    @checked(SceneError)
    def has_animation(self, id: int) -> bool:
        return id in self._animations

    def animation_ids(self) -> list[int]:
        """Numbers of the animated objects, ascending."""
        return sorted(self._animations)

    @property
    def animations(self) -> dict[int, Animation]:
        """By id of the object."""
        return self._animations

    def run(self, frame: int, dt: float) -> None:
        """Run the callbacks of a frame in order of object numbers; the first that fails stops the others."""
        for id in self.animation_ids():
            animation = self._animations.get(id)
            if animation is not None:  # an earlier callback may have erased it
                animation.run(frame, dt)

    def __repr__(self) -> str:
        return f"<Animator of {[animation for _, animation in sorted(self._animations.items())]}>"
