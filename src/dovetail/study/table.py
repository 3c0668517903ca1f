"""The table of a study: a file with one line of JSON for each case that is done, in the order in which they end.

    pandas.read_json("study.jsonl", lines=True)

A line is written by one call and flushed to the disk before the next one. If the program is killed, at most the last
line is torn, and is taken off when the study goes on. A lock that ends with the process keeps two programs from
writing the same table.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dovetail.errors import StudyError
from dovetail.study.cases import OWN, Case, Row

__all__ = ["Table"]


class Table:
    """`with Table(path, cases, seed) as table:` rows (by number of case) are those that are there already."""

    def __init__(self, path: Path, cases: list[Case], seed: int) -> None:
        self.path, self.rows = path, dict[int, Row]()
        try:
            self._file: io.FileIO = path.open("a+b", buffering=0)
        except OSError as error:
            raise StudyError(f"{path}: the table cannot be written, {error.strerror}") from error
        try:
            _lock(self._file, path)
            self._read(cases, seed)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, row: Row) -> None:
        """Write the row of a case; it is on the disk when this returns."""
        line = (json.dumps(row, ensure_ascii=False) + "\n").encode()
        end = self._file.seek(0, os.SEEK_END)
        try:
            written = self._file.write(line)
            if written != len(line):
                raise OSError(None, "the disk is full")
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(end)
            raise StudyError(
                f"{self.path}: case {row['case']} cannot be written, {error.strerror}; {len(self.rows)} cases are kept"
            ) from error
        self.rows[row["case"]] = row

    def _read(self, cases: list[Case], seed: int) -> None:
        self._file.seek(0)
        content = self._file.readall() or b""
        whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:whole].splitlines(), 1):
            self._take(line, f"{self.path}, line {number}", cases, seed)
        if whole < len(content):
            if not content.startswith(b"{"):
                raise StudyError(f"{self.path}: this is no table of a study; give another name, nothing was changed")
            self._file.truncate(whole)  # torn when the program before was killed

    def _take(self, line: bytes, where: str, cases: list[Case], seed: int) -> None:
        try:
            row: Any = json.loads(line)
            number = row["case"]
            is_row = all(name in row for name in OWN) and isinstance(number, int)
        except (ValueError, TypeError, KeyError, RecursionError):
            is_row = False
        if not is_row:
            raise StudyError(f"{where}: this is no row of a study; give another name, nothing was changed")
        if number in self.rows:
            raise StudyError(f"{where}: case {number} is there twice; delete one of its lines")
        if not 0 <= number < len(cases):
            raise StudyError(
                f"{where}: the table has case {number}, and this study has {len(cases)}; give another name"
            )
        if row["seed"] != seed:
            raise StudyError(f"{where}: the table was made with seed {row['seed']}, now {seed}; give another name")
        for name, value in cases[number].items():
            if name not in row or not _same(row[name], value):
                was = f"{name} = {row[name]!r}" if name in row else f"no {name}"
                raise StudyError(
                    f"{where}: case {number} had {was}, now {value!r}; a table goes on with the same cases, for others "
                    "give another name"
                )
        self.rows[number] = row


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON tells them, NaN included."""
    return json.dumps(one) == json.dumps(other)


def _lock(file: io.FileIO, path: Path) -> None:
    """Keep other programs from writing, as long as this process lives; a fork does not have the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(1 << 40)  # beyond the end: others may read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise StudyError(f"{path}: another program writes this table now; wait for it, or give another name") from error
    except OSError:
        return  # a file system without locks
