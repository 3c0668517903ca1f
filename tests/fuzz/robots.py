"""Spoils robots' files again and again and reads them: python robots.py 2000 1. URDF, MJCF, USD as text and as bytes.

Each is a robot or is refused by a `DovetailError`. One in ten is a trap that asks for much by a few words.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import trimesh
from mutations import spoil_bytes
from pxr import Sdf
from robots_compared.mutations import spoil
from usd_files import body, cube, d6, joint, stage
from watched import SECRET, Watched

from dovetail import Scene, Sim
from dovetail.io.urdf import UrdfIO

URDF = """<?xml version="1.0"?>
<robot name="r">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="a"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
<visual><geometry><mesh filename="m.stl" scale="0.1 0.1 0.1"/></geometry><material name="red"/></visual>
<collision><origin rpy="0 0.1 0"/><geometry><box size="0.1 0.2 0.3"/></geometry></collision></link>
<link name="b"><inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
<collision><geometry><mesh filename="package://x/m.stl"/></geometry></collision></link>
<link name="c"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="5"/><dynamics damping="0.1" friction="0.1"/></joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0 0 1"/><axis xyz="0 0 1"/>
<limit lower="0" upper="1" effort="10" velocity="5"/><mimic joint="j" multiplier="0.5" offset="0.1"/></joint>
</robot>"""
MJCF = """<mujoco model="r">
<compiler angle="degree" meshdir="."/>
<include file="part.xml"/>
<asset><mesh name="m" file="m.stl" scale="0.1 0.1 0.1"/>
<texture name="t" type="2d" builtin="flat" width="9" height="9"/>
<hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/></asset>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1"><joint name="j" axis="0 1 0" range="-90 90" damping="0.1"/><geom type="mesh" mesh="m"/>
<body name="b" pos="0 0 0.5"><joint name="s" type="slide" axis="0 0 1"/><geom type="capsule" size="0.1 0.2"/>
<site name="tip"/></body></body>
<replicate count="3" offset="0 1 0"><geom type="sphere" size="0.1"/></replicate>
</worldbody>
<actuator><position joint="j" kp="10"/><motor joint="s" ctrlrange="-1 1"/></actuator>
<equality><joint joint1="s" joint2="j" polycoef="0 0.1 0 0 0"/></equality>
<keyframe><key name="home" qpos="0.1 0.01"/></keyframe>
</mujoco>"""
TRAPS = [
    (".urdf", '<robot name="r">' + "<x/>" * 600_000 + "</robot>"),
    (".urdf", '<robot name="r">' + "<a>" * 5000),
    (".urdf", f'<robot name="r"><link name="a"><collision><geometry><mesh filename="../../{SECRET}.stl"/></geometry>'
              "</collision></link></robot>"),
    (".urdf", '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>'),
    (".xml", f'<mujoco><include file="../../{SECRET}.xml"/></mujoco>'),
    (".xml", '<mujoco><worldbody><replicate count="999999999"><body/></replicate></worldbody></mujoco>'),
    (".xml", '<mujoco><size memory="9999T" nuserdata="2000000000"/><worldbody/></mujoco>'),
    (".usda", '#usda 1.0\n' + "".join(
        f'class "p{k}" {{ ' + " ".join(f'def "a{n}" (references = </p{k + 1}>) {{ }}' for n in range(3)) + " }\n"
        for k in range(6)) + 'class "p6" { }\ndef "r" (prepend references = </p0>) { }\n'),
    (".usda", "#usda 1.0\n" + 'def "a" {\n' * 3000),
    (".usda", f'#usda 1.0\ndef "r" (prepend references = @../../{SECRET}.usda@) {{ }}\n'),
]  # fmt: skip


def originals(folder: Path) -> list[tuple[str, bytes]]:
    """Good files by their endings, and what lies beside them."""
    (folder / "m.stl").write_bytes(trimesh.creation.box((1, 1, 1)).export(file_type="stl"))
    (folder / "part.xml").write_text("<mujocoinclude><option timestep='0.001'/></mujocoinclude>")
    hinge = joint("RevoluteJoint", "j", ["", "b"], "float physics:upperLimit = 30\nfloat physics:lowerLimit = -3")
    text = stage(
        folder, body("b", content=cube()) + hinge + body("c", (0, 0, 1), cube()) + d6("k", ("b", "c"), rotX=None)
    )
    Sdf.Layer.FindOrOpen(str(text)).Export(str(folder / "r.usdc"))
    usd = [(".usda", text.read_bytes()), (".usdc", (folder / "r.usdc").read_bytes())]
    return [(".urdf", URDF.encode()), (".xml", MJCF.encode()), *usd]


def main(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as outside:
        folder = Path(outside) / "package" / "r"
        folder.mkdir(parents=True)
        good = originals(folder)
        for suffix, content in good:
            (folder / f"good{suffix}").write_bytes(content)
            Sim(contact=False).robot(folder / f"good{suffix}")  # or else nothing is tested
        with Watched(Path(outside)) as watched:
            for k in range(count):
                suffix, content = good[k % len(good)]
                is_text = suffix != ".usdc" and rng.random() < 0.8
                if k % 10 == 9:
                    suffix, trap = TRAPS[(k // 10) % len(TRAPS)]
                    content = trap.encode()
                else:
                    content = spoil(content.decode(), rng).encode() if is_text else spoil_bytes(content, rng)
                file = folder / f"robot{suffix}"
                file.write_bytes(content)
                fit = ("hull", "mesh", None)[k % 3]
                watched.read(f"{k}{suffix}", lambda file=file, fit=fit: Sim(contact=False).robot(file, collision=fit))
                if suffix == ".urdf" and k % 10 != 9:
                    watched.told["files"] -= 1  # the same file again, by libuipc's reader
                    had = watched.told["taken"]
                    watched.read(f"{k} UrdfIO", lambda file=file: UrdfIO().read(Scene().objects.create("r"), file))
                    watched.told["taken"] = had
            watched.tell()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
