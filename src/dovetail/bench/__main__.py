"""`python -m dovetail.bench`: measure, and write tables and plots."""

from __future__ import annotations

import sys

from dovetail.bench.command import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
