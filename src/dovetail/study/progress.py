"""The bar of a sweep: cases done, cases failed, how long it will take."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from dovetail.study.cases import Row

__all__ = ["Progress"]


class Progress:
    """`with Progress(count, rows, show) as bar: … bar.add(row)`, rows being those of an earlier run."""

    def __init__(self, count: int, rows: Iterable[Row], show: bool) -> None:
        self._bar: Any = None
        before = list(rows)
        self._failed = sum(row["error"] is not None for row in before)
        if not show:
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), TimeRemainingColumn(),
            TextColumn("{task.fields[failed]}"), console=Console(stderr=True),
        )  # fmt: skip
        self._task = self._bar.add_task("cases", total=count, completed=len(before), failed=self._said())

    def _said(self) -> str:
        return f"{self._failed} failed" if self._failed else ""

    def add(self, row: Row) -> None:
        """A case has ended."""
        self._failed += row["error"] is not None
        if self._bar is not None:
            self._bar.update(self._task, advance=1, failed=self._said())

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
