"""`python -m dovetail.uipc [--headless N] script.py [arguments]`"""

from __future__ import annotations

import sys
from pathlib import Path

from dovetail.uipc.runner import main

__all__ = ["main"]

if __name__ == "__main__":
    if sys.path[0] == str(Path.cwd()):  # put there by -m; `python script.py` would not search it
        del sys.path[0]
    sys.exit(main(sys.argv[1:]))
