"""The entry of the command line: which command, its options, and how errors end it.

Nothing heavy is imported before a command is chosen, so that `--help` answers at once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from dovetail import __version__
from dovetail.cli import commands
from dovetail.cli.exit_codes import ERROR, INTERRUPTED, OK, USAGE
from dovetail.errors import DovetailError, MissingExtra

__all__ = ["main"]

_COMMANDS = {
    "demo": commands.demo,
    "run": commands.run,
    "view": commands.view,
    "export": commands.export,
    "check": commands.check,
    "uipc": commands.uipc,
    "bench": commands.bench,
    "info": commands.info,
    "warmup": commands.warmup,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code (dovetail.cli.exit_codes)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["--version"]:
        print(f"dovetail {__version__}")
        return OK
    try:
        if given[:1] == ["uipc"] and given[1:2] not in (["-h"], ["--help"]):
            return commands.uipc_script(given[1:])  # what follows belongs to the script
        return _parsed(given)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except DovetailError as error:
        print(f"dovetail: {_as_options(str(error))}", file=sys.stderr)
        return ERROR
    except BrokenPipeError:  # as after `dovetail info | head -1`
        sys.stderr.close()
        return ERROR


def _as_options(message: str) -> str:
    """A message about arguments of Python's calls, with those of the command line."""
    return re.sub("pass overwrite=True to replace it( or append=True to continue it)?", "give --overwrite", message)


def _parsed(given: list[str]) -> int:
    try:
        import tyro
    except ImportError:
        raise MissingExtra("the command line needs tyro; pip install 'dovetail'.") from None
    try:
        code: int = tyro.extras.subcommand_cli_from_dict(
            _COMMANDS,  # type: ignore[arg-type]  # functions of different arguments, all returning an exit code
            prog="dovetail",
            description="Articulated affine bodies that never intersect. Every command has its own --help; "
            "--version tells which version this is.",
            args=given,
            config=(tyro.conf.FlagCreatePairsOff,),
        )
    except SystemExit as end:
        return USAGE if end.code not in (0, None) else 0
    return code
