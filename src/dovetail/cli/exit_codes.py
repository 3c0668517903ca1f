"""What the command line tells the shell when it ends."""

from __future__ import annotations

__all__ = ["ERROR", "INTERRUPTED", "OK", "PROBLEMS", "USAGE"]

OK = 0
ERROR = 1
"""Something could not be done; one paragraph on stderr says what."""
USAGE = 2
"""The command line itself made no sense."""
PROBLEMS = 3
"""`dovetail check` found something that must be mended."""
INTERRUPTED = 130
"""Ctrl-C; what was recorded until then is kept."""
