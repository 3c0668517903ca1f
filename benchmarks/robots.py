"""Robots of public packages beside the engines that their files are made for: MJCF with MuJoCo, URDF with Pinocchio.

    python benchmarks/robots.py                      # all packages that are installed → docs/robots_compared.md
    python benchmarks/robots.py --packages robosuite # those of some packages
    python benchmarks/robots.py --only panda         # those whose path has the word; other rows of the page stay
    python benchmarks/robots.py --fuzz 10000         # spoiled files: each is a robot or is refused in a paragraph

At the start and at random postures within limits, with the base fixed: frames of all links [m, –], total mass, mass
matrix, and torques against gravity (of URDFs also Coriolis forces), relative to their largest entry.
`make robots` installs the packages into an environment of its own and runs it.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail import Sim
from dovetail.errors import DovetailError

PAGE = Path(__file__).parents[1] / "docs" / "robots_compared.md"
PACKAGES = ("gymnasium", "gymnasium_robotics", "robosuite", "dm_control", "pybullet_data", "example_robot_data")
G = np.array([0.0, 0.0, -9.81])
AGREES = {"frames": 1e-9, "mass": 1e-8, "matrix": 1e-8, "torques": 1e-8}
"""Bodies between the joints of a body with several weigh a billionth of it each; all else is round-off."""


class Row(NamedTuple):
    """What became of a file."""

    package: str
    name: str
    bodies: int = 0
    joints: int = 0
    errors: dict[str, float] | None = None
    findings: int = 0
    refused: str = ""
    seconds: float = 0.0

    @property
    def agrees(self) -> bool:
        return self.errors is not None and all(self.errors[key] <= bar for key, bar in AGREES.items())


# --- files --------------------------------------------------------------------------------------------------


def files_of(package: str) -> tuple[Path | None, list[Path]]:
    """Where a package is, and its robot files; of URDFs without those of MuJoCo's format."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None, []
    root = Path(next(iter(spec.submodule_search_locations)))
    if package == "example_robot_data":
        roots = sorted(root.parents[4].glob("**/example-robot-data/robots")) or [root]
        return roots[0], sorted(roots[0].rglob("*.urdf"))
    return root, sorted(root.rglob("*.xml"))


# --- MJCF ---------------------------------------------------------------------------------------------------


def compare_mjcf(file: Path, folders: list[Path], postures: int, seed: int = 0) -> tuple[Any, dict[str, float]] | None:
    """The robot and how far it is off; None where MuJoCo cannot read the file either, or it has no joints."""
    import mujoco

    from dovetail.robot.mjcf import Model

    try:
        known = Model(file)
    except DovetailError:
        return None
    m = known.m
    if m.njnt == 0:
        return None
    m.opt.gravity[:], m.opt.disableflags = G, 0
    sim = Sim(contact=False)
    robot = sim.robot(file, collision=None, folders=folders)
    d, of = mujoco.MjData(m), {name: j for j, name in enumerate(known.joint_names)}
    described = robot.description
    follows = np.zeros((m.nv, len(robot.names)))
    for name, joint in described.joints.items():
        if joint.is_scalar:
            leader, ratio, _ = described.leader(joint)
            follows[m.jnt_dofadr[of[name]], robot.names.index(leader.name)] = ratio
    balls = any(joint.kind == "ball" for joint in described.joints.values())
    errors = dict.fromkeys(AGREES, 0.0)
    for _ in each_posture(robot, postures, np.random.default_rng(seed)):
        for name, value in described.values(dict(zip(robot.names, robot.q.tolist(), strict=True))).items():
            if described.joints[name].is_scalar:
                d.qpos[m.jnt_qposadr[of[name]]] = value
        mujoco.mj_forward(m, d)
        for b in range(1, m.nbody):
            T = robot.frames[known.body_names[b]].transform
            off = max(np.abs(T[:3, 3] - d.xpos[b]).max(), np.abs(T[:3, :3] - d.xmat[b].reshape(3, 3)).max())
            errors["frames"] = max(errors["frames"], float(off))
        if not robot.names or balls:  # balls have no coordinates that others could be held by
            continue
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, M) if not hasattr(d, "qM") else mujoco.mj_fullM(m, M, d.qM)
        gather(errors, robot, follows.T @ M @ follows, follows.T @ d.qfrc_bias)
    errors["mass"] = abs(robot.mass / float(m.body_mass[1:].sum()) - 1.0)
    return robot, errors


# --- URDF ---------------------------------------------------------------------------------------------------


def compare_urdf(file: Path, folders: list[Path], postures: int, seed: int = 0) -> tuple[Any, dict[str, float]] | None:
    """The same with Pinocchio."""
    import pinocchio

    sim = Sim(contact=False)
    robot = sim.robot(file, collision=None, folders=folders)
    m = pinocchio.buildModelFromUrdf(str(file))
    m.gravity.linear[:] = G
    data, described = m.createData(), robot.description
    follows, shift = np.zeros((m.nv, len(robot.names))), np.zeros(m.nv)
    for k in range(1, m.njoints):
        leader, ratio, offset = described.leader(described.joints[m.names[k]])
        follows[m.joints[k].idx_v, robot.names.index(leader.name)] = ratio
        shift[m.joints[k].idx_v] = offset
    errors, rng = dict.fromkeys(AGREES, 0.0), np.random.default_rng(seed)
    for _ in each_posture(robot, postures, rng):
        robot.v = rng.normal(size=len(robot.names))
        x, full = follows @ robot.q + shift, pinocchio.neutral(m)
        for k in range(1, m.njoints):
            joint = m.joints[k]
            at, angle = joint.idx_q, x[joint.idx_v]
            full[at : at + joint.nq] = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        pinocchio.framesForwardKinematics(m, data, full)
        for name, frame in robot.frames.items():
            number = m.getFrameId(name, pinocchio.FrameType.BODY)
            off = np.abs(data.oMf[number].homogeneous - frame.transform).max()
            errors["frames"] = max(errors["frames"], float(off))
        if robot.names:
            M = np.triu(pinocchio.crba(m, data, full))
            M = M + np.triu(M, 1).T
            bias = pinocchio.nonLinearEffects(m, data, full, follows @ robot.v)
            gather(errors, robot, follows.T @ M @ follows, follows.T @ bias)
    total = pinocchio.computeTotalMass(m) + m.inertias[0].mass
    errors["mass"] = abs(robot.mass / total - 1.0) if total else robot.mass
    return robot, errors


# --- both ---------------------------------------------------------------------------------------------------


def each_posture(robot: Any, postures: int, rng: np.random.Generator) -> Any:
    """Where it starts, and then at random within its limits, ±2 where there are none."""
    yield 0
    low, high = robot.limits.T
    low, high = np.where(np.isfinite(low), low, -2.0), np.where(np.isfinite(high), high, 2.0)
    for k in range(1, postures if len(robot.names) else 1):
        robot.q = rng.uniform(low, high)
        yield k


def gather(errors: dict[str, float], robot: Any, M: np.ndarray, bias: np.ndarray) -> None:
    errors["matrix"] = max(errors["matrix"], float(np.abs(robot.mass_matrix() - M).max() / np.abs(M).max()))
    scale = max(float(np.abs(bias).max()), 1e-3 * float(np.abs(G).max()) * robot.mass)
    errors["torques"] = max(errors["torques"], float(np.abs(robot.bias() - bias).max()) / scale)


def row_of(package: str, root: Path, file: Path, postures: int) -> Row | None:
    name, begin = str(file.relative_to(root)), time.perf_counter()
    try:
        found = (compare_urdf if file.suffix == ".urdf" else compare_mjcf)(file, [root], postures)
    except DovetailError as error:
        return Row(package, name, refused=str(error).replace(str(root), "…"))
    if found is None:
        return None
    robot, errors = found
    seconds = time.perf_counter() - begin
    return Row(package, name, len(robot.bodies), len(robot.names), errors, len(robot.findings), "", seconds)


HEAD = """# Robots compared

Written by `make robots`: robot files of public packages, MJCF beside MuJoCo and URDF beside Pinocchio, at the start and
at random postures within limits. Numbers are the largest differences: of frames in m, of the others relative to the
largest entry. What MuJoCo itself cannot read, or has no joints, is left out. Bodies between the joints of a body with
several weigh a billionth of it each; that is what is more than round-off in MJCF files. [How it is read](robots.md).
"""


def page(rows: list[Row], before: str) -> str:
    """A table for each package; rows of a former page that are not compared now stay."""
    tables: dict[str, dict[str, str]] = {}
    for part in before.split("\n## ")[1:]:
        package, *lines = part.split("\n")
        tables[package] = {
            line.split(" | ")[0][2:]: line for line in lines if line.startswith("| ") and "file |" not in line
        }
    for row in rows:
        numbers = f"{row.refused} | | | | no"
        if row.errors is not None:
            numbers = " | ".join(f"{row.errors[key]:.0e}" for key in AGREES) + f" | {'yes' if row.agrees else 'no'}"
        line = f"| {row.name} | {row.bodies or ''} | {row.joints or ''} | {numbers} |"
        tables.setdefault(row.package, {})[row.name] = line
    found = HEAD
    for package in (name for name in PACKAGES if name in tables):
        mine = [tables[package][name] for name in sorted(tables[package])]
        load, agree = (
            sum(not line.endswith("| | | | no |") for line in mine),
            sum(line.endswith("yes |") for line in mine),
        )
        found += f"\n## {package}\n\nOf {len(mine)} files {load} load, and {agree} agree.\n\n"
        found += "| file | bodies | q | frames | mass | mass matrix | torques | agrees |\n"
        found += "\n".join(["|---|---|---|---|---|---|---|---|", *mine]) + "\n"
    return found


# --- spoiled files ------------------------------------------------------------------------------------------


def spoil(text: str, rng: np.random.Generator) -> str:
    """A file with a few pieces changed: words swapped for others of it or for odd ones, lines removed or repeated."""
    odd = ["", "-1", "0", "1e300", "nan", "inf", "x", "é", "free", "ball", "hinge", "0 0 0", "../../etc/passwd", "1 2"]
    for _ in range(int(rng.integers(1, 4))):
        parts = text.split('"')
        lines = text.split("\n")
        way = int(rng.integers(5))
        if way <= 2 and len(parts) > 2:
            at = 2 * int(rng.integers(len(parts) // 2)) + 1
            other = parts[2 * int(rng.integers(len(parts) // 2)) + 1]
            parts[at] = odd[rng.integers(len(odd))] if way else other
            text = '"'.join(parts)
        elif way == 3:
            at = int(rng.integers(len(lines)))
            lines[at : at + 1] = [] if rng.random() < 0.5 else [lines[at]] * 2
            text = "\n".join(lines)
        elif text:
            at = int(rng.integers(len(text)))
            text = text[:at] + chr(int(rng.integers(32, 127))) + text[at + 1 :]
    return text


def fuzz(texts: list[tuple[str, str]], count: int, seed: int = 0) -> dict[str, int]:
    """Read spoiled files, by suffix and text; anything but a robot or a DovetailError is raised, with the file kept."""
    rng, seen = np.random.default_rng(seed), {"robot": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        for k in range(count):
            suffix, text = texts[k % len(texts)]
            file = Path(folder) / f"robot{suffix}"
            file.write_text(spoil(text, rng), encoding="utf-8")
            try:
                Sim(contact=False).robot(file, collision=None)
                seen["robot"] += 1
            except DovetailError as error:
                assert str(error), "an error says what is wrong"
                seen["refused"] += 1
            except Exception as error:
                kept = Path(tempfile.gettempdir()) / f"spoiled_{k}{suffix}"
                kept.write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
                raise AssertionError(f"spoiled file {kept}: {error!r}") from error
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--packages", nargs="*", default=PACKAGES)
    parser.add_argument("--postures", type=int, default=3)
    parser.add_argument("--fuzz", type=int, default=0)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    rows: list[Row] = []
    chosen = [
        (package, root, file)
        for package in options.packages
        for root, files in [files_of(package)]
        for file in files
        if root is not None and options.only in str(file)
    ]
    if options.fuzz:
        small = [(f.suffix, f.read_text(encoding="utf-8")) for _, _, f in chosen if f.stat().st_size < 20_000]
        print(fuzz([(suffix, text) for suffix, text in small if "file" not in text], options.fuzz))
        return
    for package, root, file in chosen:
        try:
            row = row_of(package, root, file, options.postures)
        except Exception:
            print(f"{file}:\n{traceback.format_exc()}")
            raise
        if row is not None:
            rows.append(row)
            told = row.refused or " ".join(f"{key} {value:.0e}" for key, value in (row.errors or {}).items())
            print(f"{'ok  ' if row.agrees else 'NOT '} {package} {row.name} {row.joints} {told} {row.seconds:.1f} s")
    print(f"{sum(row.agrees for row in rows)} of {len(rows)} agree, {sum(not row.refused for row in rows)} load")
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(page(rows, before), encoding="utf-8")


if __name__ == "__main__":
    main()
