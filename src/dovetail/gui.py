"""A scene in a polyscope window.

    gui = SceneGUI(scene)
    polyscope.init()
    gui.register()
    def update():
        world.advance()
        world.retrieve()
        gui.update()
    polyscope.set_user_callback(update)
    polyscope.show()

What is shown are elements labelled by `label_surface`: as one mesh for the whole scene ("merge"), or one for each
geometry under its number ("split").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dovetail import builtin
from dovetail.errors import MissingExtra, SceneError
from dovetail.geometry import SimplicialComplex
from dovetail.geometry.merge import merge_instances
from dovetail.io.scene_io import SceneIO
from dovetail.scene import Scene
from dovetail.typing import Array

__all__ = ["SceneGUI"]

_NAMES = {2: "trimesh", 1: "linemesh", 0: "pointcloud"}
_UPDATE = {3: "vertex", 2: "vertex", 1: "node", 0: "point"}


def _polyscope() -> Any:
    try:
        import polyscope
    except ImportError:
        raise MissingExtra(
            "SceneGUI: polyscope is not installed; `pip install dovetail[render]`, or `pip install polyscope`."
        ) from None
    return polyscope


@dataclass
class _Shown:
    """Something registered with polyscope, and where its points come from."""

    structure: Any
    dim: int
    points: Callable[[], Array]

    def update(self) -> None:
        move = getattr(self.structure, f"update_{_UPDATE[self.dim]}_positions")
        move(self.points())


class SceneGUI:
    """Shows the surfaces of a scene, and its settings."""

    def __init__(self, scene: Scene, surf_type: Literal["merge", "split"] = "merge") -> None:
        if surf_type not in ("merge", "split"):
            raise SceneError(f"SceneGUI: surf_type = {surf_type!r}; give 'merge' or 'split'.")
        self.scene = scene
        self.surf_type = surf_type
        self._shown: list[_Shown] = []

    def register(self, ground_name: str = "ground") -> tuple[Any, Any, Any] | None:
        """Hand all surfaces to polyscope, and the plane of the object `ground_name` if there is one.

        Merged, the surface mesh, curve network and point cloud are returned, None for those that are empty.
        """
        self._place_ground(ground_name)
        if self.surf_type == "split":
            self._shown = list(self._each())
            return None
        surface = SceneIO(self.scene)
        found: dict[int, Any] = {2: None, 1: None, 0: None}
        self._shown = []
        for dim in found:
            structure = _register(_NAMES[dim], dim, surface.simplicial_surface(dim))
            if structure is not None:
                found[dim] = structure
                self._shown.append(_Shown(structure, dim, partial(_merged_points, surface, dim)))
        return found[2], found[1], found[0]

    def update(self) -> None:
        """Move what is shown to where the scene is; call it after `World.retrieve`."""
        for shown in self._shown:
            shown.update()

    def set_edge_width(self, width: float) -> None:
        """Draw the edges of triangles, 0 for none."""
        for shown in self._shown:
            if shown.dim >= 2:
                shown.structure.set_edge_width(width)

    def _each(self) -> Iterator[_Shown]:
        for slot, _ in self.scene.geometries:
            geometry = slot.geometry
            if not isinstance(geometry, SimplicialComplex):
                continue
            levels = (geometry.vertices, geometry.edges, geometry.triangles, geometry.tetrahedra)
            if levels[geometry.dim()].find(builtin.is_surf) is not None:
                structure = _register(str(slot.id()), geometry.dim(), merge_instances(geometry))
                if structure is not None:
                    yield _Shown(structure, geometry.dim(), partial(_placed_points, geometry))

    def _place_ground(self, name: str) -> None:
        ps = _polyscope()
        plane = self._half_plane(name)
        axis = None if plane is None else _axis(plane[1])
        if plane is None or axis is None:
            ps.set_ground_plane_mode("none")
            return
        ps.set_up_dir(f"{'xyz'[axis]}_up")
        ps.set_ground_plane_mode("tile_reflection")
        ps.set_ground_plane_height(float(plane[0][axis]))

    def _half_plane(self, name: str) -> tuple[Array, Array] | None:
        """P and N of the first half-plane of an object by that name."""
        for candidate in self.scene.objects.find(name):
            for slot in candidate.geometries:
                P, N = (slot.geometry.instances.find(key) for key in ("P", "N"))
                if P is not None and N is not None:
                    return P.values[0], N.values[0]
        return None

    # ---- the panel

    def show(
        self,
        imgui: Any,
        *,
        current_name: str | None = None,
        source_dir: str = "",
        scene_file: str = "",
        on_save_scene: Callable[[], Any] | None = None,
    ) -> None:
        """Draw name and files of the scene, its configuration, contact materials and animations; for a callback.

        What is read each frame can be changed there.
        """
        imgui.TextUnformatted(f"Scene: {current_name or ''}")
        for label, text in (("Folder", source_dir), ("File", scene_file)):
            if text:
                imgui.TextUnformatted(f"{label}: {text}")
        if on_save_scene is not None and imgui.Button("Save scene"):
            on_save_scene()
        imgui.Separator()
        if imgui.CollapsingHeader("Configuration"):
            self._show_config(imgui)
        if imgui.CollapsingHeader("Contact"):
            self._show_contact(imgui)
        if imgui.CollapsingHeader("Animations"):
            for id in self.scene.animator.animation_ids():
                imgui.TextUnformatted(str(self.scene.objects.find(id)))

    def _show_config(self, imgui: Any) -> None:
        config = self.scene.config
        for name, entry in Scene.config_schema()["entries"].items():
            value = config[name]
            editable = entry["effect"] == "each frame" or not self.scene.is_frozen
            if editable and entry["type"] == "number":
                changed, new = imgui.InputFloat(name, float(value), 0.0, 0.0, "%.6g")
                if changed and entry.get("exclusiveMinimum", -np.inf) < new:
                    config[name] = new
            else:
                imgui.TextUnformatted(f"{name} = {value}")

    def _show_contact(self, imgui: Any) -> None:
        tabular = self.scene.contact_tabular
        elements = tabular.elements
        for left in elements:
            for right in elements[left.id() :]:
                model = tabular.at(left.id(), right.id())
                state = f"friction {model.friction_rate():g}, resistance {model.resistance():g} Pa"
                text = state if model.is_enabled() else "off"
                imgui.TextUnformatted(f"{left.name()} and {right.name()}: {text}")


def _axis(normal: Array) -> int | None:
    """Which axis a unit normal points along, if one."""
    for axis in range(3):
        if np.allclose(normal, np.eye(3)[axis]):
            return axis
    return None


def _merged_points(surface: SceneIO, dim: int) -> Array:
    return surface.simplicial_surface(dim).positions.values


def _placed_points(geometry: SimplicialComplex) -> Array:
    """The vertices of all instances in the world, (instances · vertices, 3)."""
    T = geometry.transforms.values
    placed: Array = geometry.positions.values @ T[:, :3, :3].swapaxes(1, 2) + T[:, None, :3, 3]
    return placed.reshape(-1, 3)


def _register(name: str, dim: int, sc: SimplicialComplex) -> Any:
    """Hand a mesh of this dimension to polyscope under a name; None if it is empty."""
    ps = _polyscope()
    points = sc.positions.values
    if not len(points):
        return None
    if dim == 3:
        structure = ps.register_volume_mesh(name, points, sc.tetrahedra.topo.values)
    elif dim == 2:
        structure = ps.register_surface_mesh(name, points, sc.triangles.topo.values)
    elif dim == 1:
        structure = ps.register_curve_network(name, points, sc.edges.topo.values)
    else:
        structure = ps.register_point_cloud(name, points)
    thickness = sc.vertices.find(builtin.thickness)
    if thickness is not None and dim == 1:
        structure.set_radius(float(thickness.values[0]), relative=False)
    if thickness is not None and dim == 0:
        structure.add_scalar_quantity("thickness", thickness.values)
        structure.set_point_radius_quantity("thickness", False)
    return structure
