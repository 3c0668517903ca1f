"""Spoiled robot files: each is a robot or is refused in a paragraph; nothing hangs, and nothing outside is read."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import Sim
from dovetail.errors import DovetailError

_ODD = (
    "", "-1", "0", "1e300", "1e-300", "nan", "inf", "x", "é", "free", "ball", "hinge", "0 0 0", "1 2", "true", "mesh",
    "../../../../etc/passwd", "/etc/passwd", "package://x/../../../../etc/passwd", "file:///etc/passwd", "${x}", "%s",
)  # fmt: skip
_LONGEST = 60  # s that reading a file may take


def spoil(text: str, rng: np.random.Generator) -> str:
    """A file with a few pieces changed: words swapped for others of it or for odd ones, lines removed or repeated."""
    for _ in range(int(rng.integers(1, 4))):
        parts = text.split('"')
        lines = text.split("\n")
        way = int(rng.integers(6))
        if way <= 2 and len(parts) > 2:
            at = 2 * int(rng.integers(len(parts) // 2)) + 1
            other = parts[2 * int(rng.integers(len(parts) // 2)) + 1]
            parts[at] = _ODD[rng.integers(len(_ODD))] if way else other
            text = '"'.join(parts)
        elif way == 3:
            at = int(rng.integers(len(lines)))
            lines[at : at + 1] = [] if rng.random() < 0.5 else [lines[at]] * 2
            text = "\n".join(lines)
        elif way == 4:
            text = _other_number(text, rng)
        elif text:
            at = int(rng.integers(len(text)))
            text = text[:at] + chr(int(rng.integers(32, 127))) + text[at + 1 :]
    return text


def _other_number(text: str, rng: np.random.Generator) -> str:
    """One of its numbers changed."""
    import re

    found = list(re.finditer(r"(?<![\w.])-?\d+\.?\d*(e-?\d+)?", text))
    if not found:
        return text
    at = found[rng.integers(len(found))]
    return text[: at.start()] + str(rng.choice(["0", "-1", "1e20", "1e-20", "nan", "3", "1e9"])) + text[at.end() :]


class Watch:
    """Tells which files outside of some folders are opened by Python while it is on, and what is executed."""

    def __init__(self) -> None:
        self.folder, self.on = "", False
        self.caught: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event in ("os.system", "os.exec", "os.posix_spawn"):
            self.caught.append(f"{event} {given}")
        elif event == "open" and isinstance(given[0], str | bytes):
            name = given[0] if isinstance(given[0], str) else given[0].decode("utf-8", "replace")
            if name.startswith("/etc/passwd") or "etc/passwd" in name:
                self.caught.append(f"open {name}")


_watch: Watch | None = None


def fuzz(texts: list[tuple[str, str]], count: int, seed: int = 0) -> dict[str, int]:
    """Read spoiled files, by suffix and text; anything but a robot or a DovetailError is raised, with the file kept."""
    global _watch
    _watch = _watch or Watch()
    rng, seen = np.random.default_rng(seed), Counter[str]()
    signal.signal(signal.SIGALRM, _too_long)
    with tempfile.TemporaryDirectory() as folder:
        for k in range(count):
            suffix, text = texts[k % len(texts)]
            file = Path(folder) / f"robot{suffix}"
            file.write_text(spoil(text, rng), encoding="utf-8")
            signal.alarm(_LONGEST)
            _watch.on = True
            try:
                Sim(contact=False).robot(file, collision="hull" if k % 2 else None)
                seen["robot"] += 1
            except DovetailError as error:
                assert str(error), "an error says what is wrong"
                seen["refused"] += 1
            except BaseException as error:
                raise AssertionError(f"spoiled file {_kept(file, seed, k)}: {error!r}") from error
            finally:
                _watch.on = False
                signal.alarm(0)
            if _watch.caught:
                raise AssertionError(f"spoiled file {_kept(file, seed, k)}: {_watch.caught}")
    return dict(seen)


def _kept(file: Path, seed: int, k: int) -> Path:
    kept = Path(tempfile.gettempdir()) / f"spoiled_{seed}_{k}{file.suffix}"
    kept.write_bytes(file.read_bytes())
    return kept


def _too_long(*_: object) -> None:
    raise TimeoutError(f"it takes longer than {_LONGEST} s")
