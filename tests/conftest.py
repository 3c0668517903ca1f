"""Fixtures for all tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dovetail import Engine, Scene, World
from dovetail.kernel.machine import processors

if workers := os.environ.get("PYTEST_XDIST_WORKER_COUNT"):  # they share the processors
    os.environ.setdefault("DOVETAIL_THREADS", str(max(1, processors() // int(workers))))


@pytest.fixture
def rng() -> np.random.Generator:
    """The same random numbers in every run."""
    return np.random.default_rng(20250314)


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., World]:
    """start(scene): an initialised world whose files go to a temporary folder; `workspace` names another one."""

    def begin(scene: Scene, workspace: Path | None = None) -> World:
        world = World(Engine("cpu", workspace or tmp_path))
        world.init(scene)
        return world

    return begin


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with tests that take long: at the end there are short ones left to share among processors."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests looked at pictures in a browser: where there is none they are skipped."""
    ran, skipped = (
        sum("browser" in report.keywords for name in names for report in terminalreporter.stats.get(name, []))
        for names in (("passed", "failed"), ("skipped",))
    )
    if ran or skipped:
        terminalreporter.write_line(f"browser tests: {ran} ran, {skipped} skipped")
