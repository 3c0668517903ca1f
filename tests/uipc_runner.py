"""Runs libuipc scripts in processes of their own, as users do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

__all__ = ["run_script", "run_text"]


def run_script(
    script: Path | str, folder: Path, *arguments: str, headless: int | None = None
) -> subprocess.CompletedProcess[str]:
    """`python -m dovetail.uipc [--headless N] script arguments…` in a folder."""
    options = [] if headless is None else ["--headless", str(headless)]
    command = [sys.executable, "-m", "dovetail.uipc", *options, str(script), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)


def run_text(text: str, folder: Path, *arguments: str, headless: int | None = None) -> subprocess.CompletedProcess[str]:
    """The same for a script given as text, which becomes main.py in the folder."""
    (folder / "main.py").write_text(dedent(text), encoding="utf-8")
    return run_script("main.py", folder, *arguments, headless=headless)
