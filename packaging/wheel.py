"""A wheel that carries compiled kernels, for this version of Python and this kind of machine: python packaging/wheel.py

Builds the plain wheel, compiles all of the manifest for every level of processors (`kernel/shipped.py`) in processes of
their own, and adds what Python calls to the wheel, in `dovetail/_kernels/<level>`. No processor of a level is needed to
compile for it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LIST = """
from dovetail.kernel.manifest import entries
print(*(task.file() for task in entries()), sep="\\n")
"""


def plain_wheel(folder: Path) -> Path:
    """The wheel of the sources alone."""
    pip = [sys.executable, "-P", "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(pip, check=True)
    return next(folder.glob("dovetail-*.whl"))


def kernels(sources: Path, level: str, cache: Path) -> list[Path]:
    """Compile everything for a level; the files that Python calls."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(sources),
        "DOVETAIL_CACHE_DIR": str(cache),
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": "",
    }
    subprocess.run([sys.executable, "-P", "-m", "dovetail", "warmup"], env=environment, check=True)
    told = subprocess.run(
        [sys.executable, "-P", "-c", _LIST], env=environment, check=True, capture_output=True, text=True
    )
    return [Path(line) for line in told.stdout.splitlines()]


def tag() -> str:
    """Python, its ABI, and the platform: Linux as old as Numba's own wheels take it."""
    machine = platform.machine()
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    system = {"linux": f"manylinux_2_17_{machine}.manylinux2014_{machine}"}.get(
        sys.platform, sysconfig.get_platform().replace("-", "_").replace(".", "_")
    )
    return f"{python}-{python}-{system}"


def with_kernels(plain: Path, added: dict[str, bytes], out: Path) -> Path:
    """The wheel with more files in it, tagged for this machine."""
    name, version = plain.name.split("-")[:2]
    information = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(plain) as archive:
        content = {item: archive.read(item) for item in archive.namelist() if not item.endswith("/RECORD")}
    lines = [line for line in content[f"{information}/WHEEL"].decode().splitlines() if line]
    kept = [line for line in lines if not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    python, abi, systems = tag().split("-")
    tags = [f"Tag: {python}-{abi}-{system}" for system in systems.split(".")]
    content[f"{information}/WHEEL"] = "\n".join([*kept, "Root-Is-Purelib: false", *tags, ""]).encode()
    content |= added
    record = [f"{item},sha256={_digest(body)},{len(body)}" for item, body in content.items()]
    content[f"{information}/RECORD"] = "\n".join([*record, f"{information}/RECORD,,", ""]).encode()
    made = out / f"{name}-{version}-{tag()}.whl"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for item, body in content.items():
            archive.writestr(item, body)
    return made


def _digest(body: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()


def main() -> None:
    from dovetail.kernel.files import unsealed
    from dovetail.kernel.shipped import LEVELS

    out = ROOT / "dist"
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        plain, sources = plain_wheel(Path(scratch)), Path(scratch) / "sources"
        with zipfile.ZipFile(plain) as archive:
            archive.extractall(sources)  # what is compiled is what is shipped
        added = {}
        for level in LEVELS:
            for path in kernels(sources, level, Path(scratch) / level):
                added[f"dovetail/_kernels/{level}/{path.parent.name}/{path.name}"] = unsealed(path.read_bytes())
        made = with_kernels(plain, added, out)
    print(f"{made}: {len(added)} kernels for {', '.join(LEVELS)}, {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
