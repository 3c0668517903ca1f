"""The commands with their options; what each does is imported when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from dovetail.errors import SceneError

if TYPE_CHECKING:
    from dovetail.core import World

__all__ = ["bench", "check", "demo", "export", "info", "run", "uipc", "uipc_script", "view", "warmup"]

File = Annotated[Path | None, arg(metavar="FILE")]


def _require(command: str, option: str, value: int | None, least: int = 0) -> None:
    """Refuse a number that is too small."""
    if value is not None and value < least:
        raise SceneError(f"{command}: --{option} is {value}; give a number from {least} on.")


def demo(
    name: Positional[str] = "showcase",
    /,
    steps: int | None = None,
    record: File = None,
    overwrite: bool = False,
    view: bool = False,
) -> int:
    """Run one of the scenes that come with dovetail; `list` names them.

    Args:
        name: which one
        steps: how many time steps
        record: write a recording (.dove) to this file
        overwrite: replace a recording that exists
        view: watch it in the browser

    """
    from dovetail.cli.demos import run_demo

    _require("demo", "steps", steps)
    return run_demo(name, steps, record, overwrite, view)


def run(
    scene: Positional[Path],
    /,
    steps: int = 100,
    record: File = None,
    every: int = 1,
    overwrite: bool = False,
    view: bool = False,
) -> int:
    """Run a scene: a Python file with build(), `sim` or `scene`; a .toml file; a .json file of SceneIO; or a robot.

    Args:
        scene: the file
        steps: how many time steps
        record: write a recording (.dove) to this file
        every: record only every so many frames
        overwrite: replace a recording that exists
        view: watch and steer it in the browser instead of running so many steps

    """
    from dovetail.cli.load import load
    from dovetail.cli.running import run_world, watch

    _require("run", "steps", steps)
    _require("run", "every", every, 1)
    world = load(scene)
    if view:
        return watch(world, record, every, overwrite)
    return run_world(world, steps, record, every, overwrite)


def view(file: Positional[Path], /, host: str = "127.0.0.1", port: int = 8080, no_browser: bool = False) -> int:
    """Play a recording in the browser, or look at a robot, with a slider for every joint.

    Args:
        file: a recording that `--record` or a Recorder wrote, or the file of a robot (.urdf .xml)
        host: address to listen at; by default this machine alone can look
        port: port to listen at, or the next free one
        no_browser: only tell the address, do not open a tab

    """
    from dovetail.robot.read import ENDINGS
    from dovetail.viewer import view as show

    _require("view", "port", port)
    shown: Path | World = file
    if file.suffix.lower() in ENDINGS:
        from dovetail.cli.load import load

        shown = load(file)
    show(shown, host=host, port=port, browser=not no_browser)
    return 0


def export(
    recording: Positional[Path],
    output: Positional[Path],
    /,
    fps: float = 30.0,
    speed: float = 1.0,
    overwrite: bool = False,
    width: int | None = None,
    height: int | None = None,
    follow: str | None = None,
) -> int:
    """Write a recording for other programs: .html .glb .usda .usdc .csv .mp4 .gif, or a folder of .obj files.

    Args:
        recording: the recording
        output: what to write; its ending says what it becomes, and no ending means a folder of .obj files
        fps: frames per second of playback
        speed: how much faster than real time it plays
        overwrite: replace what exists
        width: of a film, in pixels
        height: of a film, in pixels
        follow: name of a body that the camera of a film goes along with

    """
    from dovetail.cli.exporting import export_recording

    film = {"width": width, "height": height, "follow": follow}
    return export_recording(recording, output, fps, speed, overwrite, film)


def check(
    file: Positional[Path],
    /,
    d_hat: float | None = None,
    scale: float = 1.0,
) -> int:
    """Look for what is wrong with a mesh, a scene or a robot: open, inside out, intersecting, thin, badly placed.

    Args:
        file: a mesh (.obj .stl .ply .glb .msh), a scene (.py .toml .json) or a robot (.urdf .xml)
        d_hat: contact distance in m that thickness and gaps are compared with; default: 1 mm, or the scene's own
        scale: multiply the mesh by this first; 0.001 for one in mm

    """
    from dovetail.cli.checking import check_file

    return check_file(file, d_hat, scale)


def uipc(script: Positional[Path], /, headless: int | None = None) -> int:
    """Run a script that was written for libuipc, unchanged: `dovetail uipc [--headless N] script.py [arguments]`.

    Args:
        script: the script; whatever follows are its own arguments
        headless: run a script that opens a window without one, for so many frames

    """
    return uipc_script([*([] if headless is None else ["--headless", str(headless)]), str(script)])


def uipc_script(arguments: list[str]) -> int:
    """The same with the arguments as they were given."""
    from dovetail.uipc.runner import main

    return int(main(arguments))


def bench(steps: int = 100, compare: bool = False, quick: bool = False, out: Path = Path("dovetail-bench")) -> int:
    """Time the scenes of `dovetail demo` on this machine, or dovetail beside other engines that are installed.

    Args:
        steps: time steps of each scene
        compare: run the comparison with other engines instead, which takes 15 minutes
        quick: a shorter comparison, 3 minutes
        out: folder that the comparison writes its page, pictures and results to

    """
    _require("bench", "steps", steps, 1)
    if compare or quick:
        from dovetail.bench.command import main

        return main([*(["--quick"] if quick else []), "--out", str(out)])
    from dovetail.cli.timing import bench_scenes

    return bench_scenes(steps)


def info() -> int:
    """Tell versions, processors, the kernel cache, and which optional packages are there."""
    from dovetail.cli.versions import print_versions

    return print_versions()


def warmup() -> int:
    """Compile everything now, so that later runs start at once."""
    from dovetail.cli.timing import warm_up

    return warm_up()
