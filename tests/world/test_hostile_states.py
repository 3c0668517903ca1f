"""States that come from elsewhere: another scene, or a file made to do harm. All are refused in a sentence."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import zipfile
from textwrap import dedent

import numpy as np
import pytest

from dovetail import Sim
from dovetail.core import WorldState
from dovetail.errors import WorldError


def heap() -> Sim:
    """Two boxes on the ground, near enough to be watched."""
    sim = Sim(dt=0.01)
    sim.ground()
    for k in range(2):
        sim.box(0.2, pos=(0.02 * k, 0, 0.1005 + 0.202 * k))
    return sim


def settled(sim: Sim, steps: int = 3) -> Sim:
    for _ in range(steps):
        sim.step()
    return sim


def changed(state: WorldState, name: str, place: tuple[int, ...], value: float) -> WorldState:
    arrays = {key: array.copy() for key, array in state.arrays.items()}
    arrays[name][place] = value
    return WorldState(state.frame, state.scene, arrays)


COARSER = """
    import sys
    import numpy as np
    from dovetail import Engine, Scene, World, geometry
    from dovetail.constitution import AffineBodyConstitution
    from dovetail.geometry import label_surface
    import trimesh

    def world(subdivisions):
        mesh = trimesh.creation.box((0.2, 0.2, 0.2))
        for _ in range(subdivisions):
            mesh = mesh.subdivide()
        shape = geometry.trimesh(mesh.vertices, mesh.faces)
        label_surface(shape)
        # the mass is given, so that it is the same to the last bit
        AffineBodyConstitution().apply_to(shape, 1e8, np.diag([8.0] * 3 + [0.1] * 9), 0.008)
        shape.instances.resize(2)
        shape.instances["transform"][1, 2, 3] = 0.2005
        scene = Scene({"dt": 0.01, "gravity": [0.0, 0.0, -9.8]})
        scene.objects.create("cubes").geometries.create(shape)
        made = World(Engine("cpu", sys.argv[1]))
        made.init(scene)
        return made

    fine = world(3)
    for _ in range(3):
        fine.advance()
    assert len(fine.state().arrays["contact/pairs"]) > 100
    assert fine.dump()
    coarse = world(0)
    taken = coarse.recover(3)
    for _ in range(3):
        coarse.advance()
    print("taken" if taken else "refused")
"""


def test_a_dump_of_a_scene_with_equal_masses_and_finer_meshes_is_refused(tmp_path):
    """In a process of its own: the kernels would write beside their arrays."""
    ran = subprocess.run(
        [sys.executable, "-c", dedent(COARSER), str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.split() == ["refused"]
    assert "is of another scene: bodies, masses, joints, surfaces, half-planes or materials differ" in ran.stderr


def test_the_fingerprint_tells_half_planes_materials_and_joints_apart():
    def start(change, **settings) -> str:
        sim = Sim(dt=0.01, **settings)
        sim.ground()
        boxes = [sim.box(0.2, pos=(0.5 * k, 0, 1)) for k in range(2)]
        change(sim, boxes)
        return sim.state.scene

    def hinge(sim, boxes, **options):
        sim.revolute(*boxes, (0.25, 0, 1), (0, 1, 0), **options)

    kinds = {
        "plain": lambda sim, boxes: None,
        "a second plane": lambda sim, boxes: sim.ground(-1.0),
        "hinge": hinge,
        "soft hinge": lambda sim, boxes: hinge(sim, boxes, exact=False),
        "limited hinge": lambda sim, boxes: hinge(sim, boxes, limit=(-1.0, 1.0)),
        "hinge with friction": lambda sim, boxes: hinge(sim, boxes, friction=0.1),
        "slider": lambda sim, boxes: sim.prismatic(*boxes, (0.25, 0, 1), (0, 1, 0)),
    }
    found = {name: start(change) for name, change in kinds.items()}
    found["rough"] = start(kinds["plain"], friction=0.9)
    assert len(set(found.values())) == len(kinds) + 1, found
    assert found["hinge"] == start(hinge), "equal scenes have equal ones"


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("contact/pairs", (0, 3), 1e6, "names bodies, vertices or half-planes in 'contact/pairs' that are not there"),
        ("contact/pairs", (-1, 1), -1.0, "in 'contact/pairs'"),
        ("contact/pairs", (-1, 2), 2.0, "in 'contact/pairs'"),
        ("contact/pairs", (-1, 3), 0.5, "in 'contact/pairs'"),
        ("contact/pairs", (-1, 7), 1e6, "in 'contact/pairs'"),
        ("contact/pairs", (0, 4), 1.0, "in 'contact/pairs'"),
        ("contact/pairs", (0, 0), 4.0, "in 'contact/pairs'"),
        ("contact/near", (0, 1), 1e6, "names pairs in 'contact/near' that are not two of the 2 bodies"),
        ("contact/blocks", (0, 0), -1.0, "names pairs in 'contact/blocks'"),
        ("contact/age", (0,), np.nan, "has a number in 'contact/age' that is not finite"),
        ("contact/age", (0,), 1e20, "has 1e+20 in 'contact/age'"),
        ("contact/budget", (0,), np.nan, "has a number in 'contact/budget' that is not finite"),
        ("contact/slack", (0, 0), -1.0, "has motions below zero"),
        ("contact/eased", (0, 0), 7.0, "has pairs in 'contact/eased' that are not there"),
        ("contact/eased", (0, 2), 0.0, "has pairs in 'contact/eased' that are not there, shares"),
        ("contact/stick", (0, 0), 0.5, "has numbers in 'contact/stick' that name no features"),
        ("contact/stick_force", (0, 0), np.nan, "has a number in 'contact/stick_force' that is not finite"),
        ("contact/numbers", (0, 2), 0.0, "has friction, ranges or thicknesses in 'contact/numbers'"),
        ("state/Q", (0, 0, 0), np.inf, "has a number in 'state/Q' that is not finite"),
    ],
)
def test_numbers_and_indices_are_looked_at_before_a_kernel_sees_them(name, place, value, message, tmp_path):
    sim = settled(heap())
    before = sim.state
    changed(before, name, place, value).save(tmp_path / "state.npz")
    with pytest.raises(WorldError) as caught:
        sim.load(tmp_path / "state.npz")
    assert message in str(caught.value) and str(caught.value).endswith("; nothing was changed.")
    for key, array in sim.state.arrays.items():
        np.testing.assert_array_equal(array, before.arrays[key])


def test_a_dump_with_a_wrong_index_is_refused_by_recover(tmp_path, caplog):
    sim = settled(heap())
    state = changed(sim.state, "contact/pairs", (0, 3), 1e6)
    (tmp_path / "dump").mkdir()
    state.save(tmp_path / "dump" / f"state.{state.frame}.npz")
    world = sim.world
    world.engine._workspace = tmp_path
    with caplog.at_level(logging.ERROR, "dovetail"):
        assert world.recover(state.frame) is False
    assert "'contact/pairs' that are not there; nothing was changed" in caplog.text


def archive(parts: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as made:
        for name, content in parts.items():
            made.writestr(f"{name}.npy", content)
    return out.getvalue()


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def header(frame: object = 1) -> bytes:
    text = json.dumps({"format": "dovetail dump", "version": 2, "frame": frame, "scene": ""})
    return npy(np.frombuffer(text.encode(), "u1"))


BOMB = npy(np.zeros(1)).replace(b"(1,), }" + b" " * 12, b"(400000000,), }    ")


def test_a_small_file_that_would_expand_to_gigabytes_is_refused_before_it_does(tmp_path):
    path = tmp_path / "bomb.npz"
    path.write_bytes(archive({"header": header(), "state/Q": npy(np.zeros(3_000_000))}, zipfile.ZIP_DEFLATED))
    assert path.stat().st_size < 100_000
    with pytest.raises(WorldError, match="parts of it are compressed, those of a saved state are not"):
        WorldState.load(path)


def test_an_array_that_claims_more_than_it_has_is_refused_before_it_is_made(tmp_path):
    path = tmp_path / "claim.npz"
    assert b"400000000" in BOMB
    path.write_bytes(archive({"header": header(), "state/Q": BOMB}))
    with pytest.raises(WorldError, match="an array of 8 bytes says that it is float64 \\(400000000,\\)"):
        WorldState.load(path)


def test_a_file_of_which_two_arrays_are_the_same_bytes_is_refused(tmp_path):
    """The directory of a zip file may name one part many times over."""
    content = archive({"header": header(), "a": npy(np.zeros(1000)), "b": npy(np.zeros(1000))})
    directory = content.index(b"PK\x01\x02")
    entries = content[directory:].split(b"PK\x01\x02")[1:]
    again = bytearray(entries[2])
    again[38:42] = entries[1][38:42]  # where the part begins
    spoilt = content[:directory] + b"".join(b"PK\x01\x02" + bytes(e) for e in (entries[0], entries[1], again))
    path = tmp_path / "twice.npz"
    path.write_bytes(spoilt)
    with pytest.raises(WorldError, match="is damaged or not a saved state"):
        WorldState.load(path)


@pytest.mark.parametrize("frame", [-1, 1.5, "1", None, True, 10**400])
def test_a_frame_that_is_no_number_of_steps_is_refused(frame, tmp_path):
    path = tmp_path / "state.npz"
    path.write_bytes(archive({"header": header(frame)}))
    with pytest.raises(WorldError, match="says that it is frame") as caught:
        WorldState.load(path)
    assert len(str(caught.value)) < 300


def test_what_is_no_file_is_not_read():
    with pytest.raises(WorldError, match="it is not a file"):
        WorldState.load("/dev/zero")
