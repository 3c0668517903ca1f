"""What a wheel of `make wheel` is worth: python benchmarks/wheel.py [--shipped-only] [dist/….whl]

Installs the newest wheel of dist/ into a fresh environment, which borrows NumPy, Numba and the others from the one that
runs this, and makes 50 steps of the scenes of benchmarks/start.py there, for each level of processors that runs here.
All kernels must be found in the wheel: no file may be written. The same steps from the sources, compiled for the same
level in an empty folder, must end in the same state, to the last bit; `--shipped-only` leaves them out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

from start import SCENES, first_step

ROOT = Path(__file__).parents[1]


def install(wheel: Path, folder: Path) -> str:
    """An environment with the wheel in it; its Python."""
    venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)], check=True)
    Path(own, "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def levels(python: str) -> list[str]:
    """Levels that are in the installed wheel and run here."""
    asked = (
        "from dovetail.kernel.shipped import LEVELS; from llvmlite import binding;"
        "has = {name for name, there in binding.get_host_cpu_features().items() if there};"
        "print(*[level for level, wanted in LEVELS.items() if wanted <= has])"
    )
    alone = {**os.environ, "PYTHONPATH": ""}
    told = subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True, env=alone)
    return told.stdout.split()


def check(scene: str, level: str, python: str, scratch: str) -> str:
    """How long the first step takes, in words; it fails where something is compiled, or results differ."""
    target = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
    unused = Path(scratch) / f"unused-{level}-{scene}"
    found = first_step(scene, str(unused), python, PYTHONPATH="", **target)
    written = [path.name for path in unused.rglob("*") if path.is_file()]
    if written:
        raise SystemExit(f"{level}, {scene}: {len(written)} kernels were compiled, {written[0]} for one")
    told = f"{level}, {scene}: {found['wall']:.1f} s, {found['cpu']:.1f} s of processor time, nothing written"
    if "--shipped-only" in sys.argv:
        return told
    compiled = first_step(scene, f"{scratch}/{level}", PYTHONPATH=str(ROOT / "src"), **target)
    if compiled["state"] != found["state"]:
        raise SystemExit(f"{level}, {scene}: other results than with kernels that are compiled here")
    return f"{told}; from the sources {compiled['cpu']:.1f} s of it, the same state {found['state']}"


def main() -> None:
    given = [Path(word) for word in sys.argv[1:] if word.endswith(".whl")]
    wheel = given[0] if given else max((ROOT / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    with tempfile.TemporaryDirectory() as scratch:
        python = install(wheel, Path(scratch) / "installed")
        for level in levels(python):
            for scene in SCENES:
                print(check(scene, level, python, scratch), flush=True)


if __name__ == "__main__":
    main()
