"""`python -m dovetail` is the command line."""

from __future__ import annotations

import sys

from dovetail.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
