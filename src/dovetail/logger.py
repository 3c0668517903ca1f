"""Messages to the user: libuipc's `Logger` on top of Python's `logging` (logger name "dovetail").

Nothing has to be set up: warnings and errors go to stderr. A program that configures `logging` itself keeps
full control: as soon as the root logger or the logger "dovetail" has handlers of its own, dovetail writes to
those only.

    import logging
    logging.basicConfig(level=logging.INFO)                  # Python's way
    dovetail.Logger.set_level(dovetail.Logger.Level.Info)    # libuipc's way
"""

from __future__ import annotations

import logging
import re
import sys
import time
from enum import IntEnum
from typing import ClassVar

from dovetail.messages import shortened

__all__ = ["Level", "Logger"]

_NAME = "dovetail"


class Level(IntEnum):
    """How much is said; the numbers are those of `logging`, with Trace below Debug and Off above all."""

    Trace = 5
    Debug = 10
    Info = 20
    Warn = 30
    Error = 40
    Critical = 50
    Off = 100


logging.addLevelName(Level.Trace, "TRACE")


class _Pattern(logging.Formatter):
    """A line layout in libuipc's flags: %v message, %l level, %L its first letter, %n logger, %t thread,
    %P process, %Y %m %d %H %M %S date and time, %e milliseconds, %% a percent sign. Other flags vanish.
    """

    def __init__(self, pattern: str) -> None:
        super().__init__()
        self.pattern = pattern

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        clock = time.localtime(record.created)
        flags = {
            "v": text,
            "l": record.levelname.lower(),
            "L": record.levelname[0],
            "n": record.name,
            "t": str(record.thread),
            "P": str(record.process),
            "e": f"{record.msecs:03.0f}",
            "%": "%",
        } | {flag: time.strftime("%" + flag, clock) for flag in "YmdHMS"}
        return re.sub("%(.)", lambda match: flags.get(match[1], ""), self.pattern)


class _Stderr(logging.Handler):
    """Writes to whatever sys.stderr is at that moment, and stays silent once others handle the messages."""

    def emit(self, record: logging.LogRecord) -> None:
        others = [handler for handler in _logger.handlers if handler is not self]
        if others or (_logger.propagate and logging.getLogger().handlers):
            return
        try:
            print(self.format(record), file=sys.stderr)
        except Exception:
            self.handleError(record)


_logger = logging.getLogger(_NAME)
_stderr = _Stderr()
_stderr.setFormatter(_Pattern("[%l] %v"))


def _say(level: int, message: str) -> None:
    if not _logger.isEnabledFor(level):
        return
    if _stderr not in _logger.handlers:
        _logger.addHandler(_stderr)
    _logger.log(level, "%s", shortened(message), stacklevel=3)


class Logger:
    """The one place messages go through; all members are static, as in libuipc."""

    Level: ClassVar[type[Level]] = Level
    Trace = Level.Trace
    Debug = Level.Debug
    Info = Level.Info
    Warn = Level.Warn
    Error = Level.Error
    Critical = Level.Critical
    Off = Level.Off

    @staticmethod
    def set_level(level: int) -> None:
        """Show messages of this `Logger.Level` and above (until called: warnings and above)."""
        _logger.setLevel(level)

    @staticmethod
    def set_pattern(pattern: str) -> None:
        """Lay out each line on stderr, e.g. "[%H:%M:%S.%e] [%l] %v" (%v is the message, %l the level)."""
        _stderr.setFormatter(_Pattern(pattern))

    @staticmethod
    def trace(message: str) -> None:
        _say(Level.Trace, message)

    @staticmethod
    def debug(message: str) -> None:
        _say(Level.Debug, message)

    @staticmethod
    def info(message: str) -> None:
        _say(Level.Info, message)

    @staticmethod
    def warn(message: str) -> None:
        _say(Level.Warn, message)

    @staticmethod
    def error(message: str) -> None:
        _say(Level.Error, message)

    @staticmethod
    def critical(message: str) -> None:
        _say(Level.Critical, message)

    @staticmethod
    def log(level: int, message: str) -> None:
        _say(level, message)
