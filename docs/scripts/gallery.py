"""Runs the examples and draws the gallery: docs/images/gallery/*.webp and docs/gallery.md.

    python docs/scripts/gallery.py                        # all pictures, and the page
    python docs/scripts/gallery.py 32_gripper 40_pendulum # some pictures, and the page
    python docs/scripts/gallery.py --replays FOLDER       # an HTML replay of every example instead

A picture shows the last of an example's moments; movable bodies of the earlier ones are drawn as ghosts, joints in
orange. Polyscope draws without a window and without a graphics card.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail import Sim, World
from dovetail.core import Engine
from dovetail.io import Recorder, Recording
from dovetail.typing import Array

__all__ = ["GALLERY", "PAGE", "PICTURES", "Shot", "render"]

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"
PAGE = REPOSITORY / "docs" / "gallery.md"
PICTURES = REPOSITORY / "docs" / "images" / "gallery"
SIZE = (480, 320)
_JOINT = (0.93, 0.45, 0.10)
_LINK = (0.45, 0.45, 0.47)
_COLUMNS = 2
_LONGER = 2  # times, by which a replay outlasts the moments of the picture


class Shot(NamedTuple):
    """When and from where an example is seen.

    title     below the picture
    moments   frames: earlier ones are ghosts, the last one is seen
    towards   direction from the scene to the camera
    zoom      above 1: nearer
    """

    title: str
    moments: tuple[int, ...]
    towards: tuple[float, float, float] = (0.62, -1.0, 0.48)
    zoom: float = 1.0


GALLERY = {
    "01_spherical_joint": Shot("Conical pendulum", (0, 40, 80)),
    "02_revolute_joint": Shot("Swinging rod", (0, 40, 80)),
    "03_prismatic_joint": Shot("Carriage on a slope", (0, 30, 50)),
    "04_fixed_joint": Shot("Cantilever of welds", (60,)),
    "05_drives": Shot("Lift with a swivelling arm", (0, 50, 100)),
    "06_limits": Shot("Drawer and door with stops", (0, 20, 150)),
    "07_joint_force": Shot("Spring gun", (0, 40, 80)),
    "08_joint_torque": Shot("Reaction wheel", (0, 100)),
    "09_soft_transform_and_motors": Shot("Led by hand", (0, 40, 80)),
    "10_more_joints": Shot("Six more joints", (0, 30)),
    "11_motors": Shot("Motors with gains", (0, 200)),
    "12_gears_and_screw": Shot("Gears, screw and stop", (0, 300)),
    "13_integrators": Shot("A swing that lasts", (0, 30, 50)),
    "14_exact_four_bar": Shot("Four-bar that does not yield", (0, 8, 14)),
    "15_spring_and_rotor": Shot("Spring, rotor, five locked axes", (0, 40, 74)),
    "20_screw_joint": Shot("A screw of your own", (0, 60)),
    "30_hinged_lid": Shot("Lid on its box", (0, 30, 50)),
    "31_drawer": Shot("Drawer with a catch", (0, 100)),
    "32_gripper": Shot("Gripper", (1, 150)),
    "33_ring_chain": Shot("Chain of rings", (80,)),
    "34_ragdolls": Shot("Ragdolls", (120,)),
    "40_pendulum": Shot("Pendulum between stops", (0, 25, 45)),
    "41_slider_crank": Shot("Slider-crank", (0, 30, 60)),
    "42_robot_arm": Shot("Robot arm", (1, 60, 150)),
    "43_pick_and_place": Shot("Pick and place", (1, 130, 300)),
    "44_walker": Shot("Jansen's walker", (0, 150), towards=(0.25, -1.0, 0.2), zoom=1.1),
    "45_car": Shot("Car", (0, 280)),
    "46_geneva_drive": Shot("Geneva drive", (0, 130), towards=(0.2, -0.6, 1.0)),
    "47_stewart_platform": Shot("Stewart platform", (0, 150)),
    "48_urdf_pick_and_place": Shot("Arm from a URDF", (1, 110, 290), towards=(1.0, -0.7, 0.5)),
    "49_quadruped": Shot("Quadruped", (1, 618), towards=(0.5, -1.0, 0.3)),
    "50_closed_loop_leg": Shot("Leg with a loop", (1, 50), towards=(0.35, -1.0, 0.15)),
}


def load(stem: str) -> Any:
    """An example as a module."""
    specification = importlib.util.spec_from_file_location(f"gallery_{stem}", EXAMPLES / f"{stem}.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def record(stem: str, frames: int, path: Path, workspace: Path) -> None:
    """Run an example for some frames and record all of them."""
    built = load(stem).build()[0]
    if isinstance(built, Sim):
        with built.record(path):
            built.step(frames)
        return
    world = World(Engine("cpu", str(workspace)))
    world.init(built)
    with Recorder(path, world) as recorder:
        recorder.write()
        for _ in range(frames):
            world.advance()
            recorder.write()


def _joint_meshes(recording: Recording, transforms: Array, size: float) -> list[tuple[Array, Array, Any]]:
    """Bars along the axes of joints, balls at the others, and thin links to the bodies: vertices, faces, colour."""
    import trimesh

    def bar(start: Array, end: Array, radius: float) -> Any:
        return trimesh.creation.cylinder(radius=radius * size, segment=(start, end), sections=24)

    meshes = []
    for joint in recording.joints:
        T = transforms[joint.right]
        centre = T[:3, :3] @ joint.right_anchor + T[:3, 3]
        if joint.has_axis:
            axis = T[:3, :3] @ joint.right_frame[0]
            half = 0.045 * size * axis / np.linalg.norm(axis)
            found = [(bar(centre - half, centre + half, 0.009), _JOINT)]
        else:
            ball = trimesh.creation.icosphere(subdivisions=2, radius=0.018 * size)
            found = [(ball.apply_translation(centre), _JOINT)]
        for body in (joint.left, joint.right):
            if len(recording.bodies[body].triangles):
                T = transforms[body]
                middle = T[:3, :3] @ recording.bodies[body].mass_center + T[:3, 3]
                if np.linalg.norm(middle - centre) > 0.02 * size:
                    found.append((bar(middle, centre, 0.003), _LINK))
        meshes += [(np.asarray(mesh.vertices), np.asarray(mesh.faces), color) for mesh, color in found]
    return meshes


def draw(recording: Recording, shot: Shot) -> Any:
    """The picture (height, width, 3) of bytes."""
    import polyscope as ps

    from dovetail.export.looks import shapes_of
    from dovetail.picture.camera import up_of

    if not ps.is_initialized():
        ps.set_verbosity(0)
        ps.set_use_prefs_file(False)
        ps.set_allow_headless_backends(True)
        ps.init("openGL3_egl")
    ps.set_window_size(*SIZE)
    ps.set_SSAA_factor(3)
    shapes = shapes_of(recording)

    def placed(moment: int, ghost: bool) -> list[tuple[Array, Array, Any]]:
        found = []
        for T, body, looks in zip(recording.transforms(moment), recording.bodies, shapes, strict=True):
            for _, shape, color in looks if not (body.fixed and ghost) else ():
                found.append((shape.vertices @ T[:3, :3].T + T[:3, 3], shape.triangles, color))
        return found

    *ghosts, seen = [placed(moment, moment != shot.moments[-1]) for moment in shot.moments]
    points = np.concatenate([vertices for meshes in (*ghosts, seen) for vertices, _, _ in meshes])
    lower, upper = points.min(axis=0), points.max(axis=0)
    size = float(np.linalg.norm(upper - lower))
    up = up_of(recording.gravity)
    axis = int(np.argmax(np.abs(up)))
    ps.set_up_dir(f"{'neg_' if up[axis] < 0 else ''}{'xyz'[axis]}_up")
    ps.set_automatically_compute_scene_extents(False)
    ps.set_length_scale(size)
    ps.set_bounding_box(lower, upper)
    ps.set_ground_plane_height_mode("manual")
    floor = [plane.point[axis] for plane in recording.planes]
    ps.set_ground_plane_height(float(floor[0] if floor else lower[axis] - 0.03 * size))
    _aim(ps, points, np.asarray(shot.towards), up, shot.zoom)

    def picture(meshes: list[tuple[Array, Array, Any]], ground: str) -> Array:
        ps.remove_all_structures()
        ps.set_ground_plane_mode(ground)
        for k, (vertices, faces, color) in enumerate(meshes):
            ps.register_surface_mesh(str(k), vertices, faces, color=color)
        return np.asarray(ps.screenshot_to_buffer(False)[:, :, :3], float)

    seen += _joint_meshes(recording, recording.transforms(shot.moments[-1]), size)
    result, bodies = picture(seen, "shadow_only"), picture(seen, "none")
    free = (bodies > 254).all(axis=-1, keepdims=True)
    for k, ghost in enumerate(ghosts):  # ghosts are behind everything, the earliest palest
        image = picture(ghost, "none")
        weight = np.where(free & (image < 254.5).any(axis=-1, keepdims=True), 0.22 + 0.12 * k, 0.0)
        result = (1 - weight) * result + weight * image
    return result.astype(np.uint8)


def _aim(ps: Any, points: Array, towards: Array, up: Array, zoom: float) -> None:
    """Put the camera where all points are just seen."""
    if up[1] > 0.9:  # directions are given with z up
        towards = np.array([towards[0], towards[2], -towards[1]])
    forward = -towards / np.linalg.norm(towards)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    above = np.cross(right, forward)
    angle = np.deg2rad(28.0)
    tall, wide = np.tan(angle / 2), np.tan(angle / 2) * SIZE[0] / SIZE[1]
    across, along, high = points @ right, points @ forward, points @ above
    middle_x, middle_y = (across.max() + across.min()) / 2, (high.max() + high.min()) / 2
    for _ in range(3):  # perspective shifts the middle a little
        need = np.maximum(np.abs(across - middle_x) / wide, np.abs(high - middle_y) / tall) * 1.18 / zoom - along
        back = need.max()
        depth = along + back
        x, y = (across - middle_x) / depth, (high - middle_y) / depth
        middle_x += (x.max() + x.min()) / 2 * depth.mean()
        middle_y += (y.max() + y.min()) / 2 * depth.mean()
    position = right * middle_x + above * middle_y - forward * back
    ps.set_vertical_fov_degrees(float(np.rad2deg(angle)))
    ps.look_at_dir(position, position + forward, up)


def about(stem: str) -> str:
    """The first line of an example's docstring."""
    text = ast.get_docstring(ast.parse((EXAMPLES / f"{stem}.py").read_text(encoding="utf-8")))
    return (text or "").splitlines()[0]


def render() -> str:
    """The page."""
    lines = [
        "# Gallery",
        "",
        "Every example is a file with `build()`, which makes the scene, and `check()`, which runs it and holds it against",
        "physics; the tests run them all. `dovetail run examples/32_gripper.py --view` shows one live. Ghosts are earlier",
        "moments, joints are orange. The pictures come from `docs/scripts/gallery.py`.",
        "",
        *["|" + " |" * _COLUMNS, "|" + "---|" * _COLUMNS],
    ]
    cells = [
        f"[![{about(stem)}](images/gallery/{stem}.webp)](../examples/{stem}.py) "
        f"<br> **[{shot.title}](../examples/{stem}.py)** <br> {about(stem)}"
        for stem, shot in GALLERY.items()
    ]
    for k in range(0, len(cells), _COLUMNS):
        lines.append("| " + " | ".join(cells[k : k + _COLUMNS]) + " |")
    return "\n".join([*lines, ""])


def main(arguments: list[str]) -> None:
    replays = Path(arguments[1]).resolve() if arguments[:1] == ["--replays"] else None
    chosen = [] if replays else arguments
    (replays or PICTURES).mkdir(parents=True, exist_ok=True)
    for stem, shot in GALLERY.items():
        if chosen and stem not in chosen:
            continue
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "run.dove"
            frames = max(shot.moments) * (_LONGER if replays else 1)
            record(stem, frames, path, Path(name))
            if replays:
                from dovetail.viewer import replay

                replay(path, replays / f"{stem}.html", overwrite=True)
                continue
            with Recording(path) as recording:
                picture = draw(recording, shot)
        import imageio.v3 as imageio

        target = PICTURES / f"{stem}.webp"
        imageio.imwrite(target, picture, quality=82)
        print(target.name, target.stat().st_size, "bytes")
    if not replays:
        PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
