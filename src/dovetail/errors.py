"""Every error dovetail raises on purpose.

    DovetailError                  anything below; also exported as `dovetail.Exception` for libuipc scripts
    ├── CollectionError            a name or type that an attribute collection refuses
    │   ├── UnsupportedType        a default value of a type that no attribute has; also a TypeError
    │   └── UnsupportedShape       an array of a shape that no attribute has; also a RuntimeError
    ├── GeometryError              a mesh that cannot be used, or an operation it does not allow
    ├── ConfigError                an unknown config key, or a value of the wrong type or range
    ├── ConstitutionError          a body, joint, limit, drive or force given values that make no sense
    │   └── ArgumentType           something of another kind than is needed; also a TypeError
    ├── SceneError                 objects, tabulars, animator, files of a scene
    │   └── AnimationError         a user's callback raised; the original is its `__cause__`
    ├── RecordingError             a recording that cannot be written, or a file that is none
    ├── ViewerError                a picture that cannot be made, or a viewer used in a way it does not allow
    ├── WorldError                 a call that the world's state does not allow; also a RuntimeError
    ├── SolverError                a step that could not be computed; the last good state is kept
    │   ├── NotFinite              NaN or Inf in a state
    │   ├── StepRefused            a step would end with surfaces that intersect, or with energy from nowhere
    │   │   └── StepTooLong        a step that contact cuts short again and again
    │   └── NewtonStalled          the iteration limit was reached (raised in strict mode only)
    ├── GradientError              a rollout that cannot be differentiated, or a gradient that there is none of
    ├── StudyError                 a study that cannot be run, or a table that is not its own
    └── MissingExtra               an optional package is absent; the message gives the pip line

Messages read: who: where, what is wrong with actual values [unit]; what to do.
"""

from __future__ import annotations

import builtins

from dovetail.messages import shortened

__all__ = [
    "AnimationError",
    "ArgumentType",
    "CollectionError",
    "ConfigError",
    "ConstitutionError",
    "DovetailError",
    "GeometryError",
    "GradientError",
    "MissingExtra",
    "NewtonStalled",
    "NotFinite",
    "RecordingError",
    "SceneError",
    "SolverError",
    "StepRefused",
    "StepTooLong",
    "StudyError",
    "UnsupportedShape",
    "UnsupportedType",
    "ViewerError",
    "WorldError",
]


class DovetailError(builtins.Exception):
    """Root of all errors raised on purpose; long names in its message are cut."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(shortened(each) if isinstance(each, str) else each for each in arguments))


class CollectionError(DovetailError):
    """An attribute name or type that a collection refuses."""


class UnsupportedType(CollectionError, TypeError):  # noqa: N818 - reads as the state it reports
    """A default value of a type that no attribute has."""


class UnsupportedShape(CollectionError, RuntimeError):  # noqa: N818 - reads as the state it reports
    """A default array of a shape that no attribute has."""


class GeometryError(DovetailError):
    """A mesh that cannot be used, or an operation it does not allow."""


class ConfigError(DovetailError):
    """An unknown scene config key, or a value of the wrong type or range."""


class ConstitutionError(DovetailError):
    """A body, joint, limit, drive or force given values that make no sense."""


class ArgumentType(ConstitutionError, TypeError):  # noqa: N818 - reads as the state it reports
    """An argument of another kind than is needed."""


class SceneError(DovetailError):
    """Objects, tabulars, animator or files of a scene used in a way they do not allow."""


class AnimationError(SceneError):
    """A user's animation callback raised; the original exception is the cause."""


class RecordingError(DovetailError):
    """A recording that cannot be written or read, or a file that is not one."""


class ViewerError(DovetailError):
    """A picture or replay that cannot be made, or a viewer used in a way it does not allow."""


class WorldError(DovetailError, RuntimeError):
    """A call that the world's present state does not allow."""


class SolverError(DovetailError):
    """A step that could not be computed; the last good state is kept."""


class NotFinite(SolverError):  # noqa: N818 - reads as the state it reports
    """NaN or Inf appeared in a state."""


class StepRefused(SolverError):  # noqa: N818 - reads as the state it reports
    """A step would end with surfaces that intersect, or with energy that its start and its loads cannot give."""


class StepTooLong(StepRefused):
    """A step that contact cuts short again and again; shorter ones take fewer iterations together."""


class NewtonStalled(SolverError):  # noqa: N818 - reads as the state it reports
    """Newton's iteration limit was reached; raised in strict mode, otherwise logged."""


class GradientError(DovetailError):
    """A rollout that cannot be differentiated, or a gradient that there is none of."""


class StudyError(DovetailError):
    """A study that cannot be run, or a table that is not its own."""


class MissingExtra(DovetailError, ImportError):  # noqa: N818 - reads as the state it reports
    """An optional package is absent; the message gives the pip line that installs it."""
