"""Messages: levels, layout, and a program's own logging set-up."""

from __future__ import annotations

import logging
import re

import pytest

from dovetail.logger import Logger


@pytest.fixture
def plain(monkeypatch):
    """Logging as in a fresh process: no handlers, level not set. Call it first: pytest adds handlers late."""
    logger = logging.getLogger("dovetail")
    level = logger.level

    def begin():
        monkeypatch.setattr(logging.getLogger(), "handlers", [])
        monkeypatch.setattr(logger, "handlers", [])
        logger.setLevel(logging.NOTSET)
        return logger

    yield begin
    logger.setLevel(level)
    Logger.set_pattern("[%l] %v")


def test_warnings_go_to_stderr_and_less_is_silent(plain, capsys):
    plain()
    Logger.info("quiet")
    Logger.warn("careful: 100 %")
    Logger.error("wrong")
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "[warning] careful: 100 %\n[error] wrong\n"


def test_the_level_decides_what_is_said(plain, capsys):
    plain()
    Logger.set_level(Logger.Level.Trace)
    for speak in (Logger.trace, Logger.debug, Logger.info, Logger.warn, Logger.error, Logger.critical):
        speak("x")
    assert capsys.readouterr().err.count("\n") == 6
    Logger.set_level(Logger.Error)
    Logger.warn("x")
    Logger.log(Logger.Critical, "y")
    assert capsys.readouterr().err == "[critical] y\n"
    Logger.set_level(Logger.Off)
    Logger.critical("x")
    assert capsys.readouterr().err == ""


def test_libuipcs_layout_flags(plain, capsys):
    plain()
    Logger.set_pattern("%Y-%m-%d %H:%M:%S.%e [%^%L%$] %n %t %P %% %v")
    Logger.warn("hello")
    line = capsys.readouterr().err
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[W\] dovetail \d+ \d+ % hello\n", line)


def test_pythons_own_logging_takes_over_without_doubling(plain, capsys):
    logger = plain()
    seen = []

    class Collect(logging.Handler):
        def emit(self, record):
            seen.append((record.name, record.levelname, record.getMessage(), record.filename))

    Logger.warn("before")
    logging.getLogger().handlers.append(Collect())
    Logger.warn("after")
    assert capsys.readouterr().err == "[warning] before\n"
    assert seen == [("dovetail", "WARNING", "after", "test_logger.py")]
    logging.getLogger().handlers.clear()
    logger.addHandler(Collect())
    Logger.warn("mine")
    assert capsys.readouterr().err == "" and seen[-1][2] == "mine"


def test_a_stderr_that_is_gone_harms_nobody(plain, monkeypatch):
    plain()
    monkeypatch.setattr("sys.stderr", None)
    Logger.warn("into the void")
