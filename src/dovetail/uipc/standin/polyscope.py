"""`polyscope` without a window: `show` calls the script's callback until its world has advanced far enough.

Meshes are registered and updated for what they are worth: shapes are checked as polyscope does, so that a script that
runs here does not stumble there. Everything that concerns looks is accepted and does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.typing import Array, ArrayLike
from dovetail.uipc.session import session
from dovetail.uipc.standin import imgui
from dovetail.uipc.standin.silent import Silent

__all__ = [
    "CurveNetwork",
    "PointCloud",
    "SurfaceMesh",
    "VolumeMesh",
    "frame_tick",
    "imgui",
    "init",
    "psim",
    "set_user_callback",
    "show",
    "unshow",
]

psim = imgui
implot = imgui
__version__ = "2.5.0"
_LONGEST_WAIT = 60.0
"""For a thread that is busy [s]; one that hangs must not hang the script."""
_callback: Callable[[], Any] | None = None
_initialised = False
_closed = False
_ticks = 0


# ---- the window


def init(*options: Any, **named: Any) -> None:
    global _initialised
    _initialised = True


def is_initialized() -> bool:
    return _initialised


def is_headless() -> bool:
    return True


def set_user_callback(func: Callable[[], Any]) -> None:
    global _callback
    _callback = func


def clear_user_callback() -> None:
    global _callback
    _callback = None


def show(forFrames: int | None = None) -> None:
    """Call back until the world has advanced the frames of `--headless`, in at most 50 calls more."""
    global _closed
    _closed = False
    most = session.most_calls if forFrames is None else min(session.most_calls, forFrames)
    calls = 0
    while _callback is not None and not _closed and not session.is_done and calls < most:
        _frame(_callback)
        calls += 1


def _frame(callback: Callable[[], Any]) -> None:
    """One picture: a script that computes in a resident thread gets the time that drawing would take."""
    imgui.begin_frame(callback)
    for worker in list(session.workers):
        worker.wait(_LONGEST_WAIT)


def unshow() -> None:
    """Close the window: `show` returns."""
    global _closed
    _closed = True


def frame_tick() -> None:
    """Call back once, in a loop of the script's own; one that goes on for more than 50 frames too long is ended."""
    global _ticks
    if _ticks >= session.most_calls:
        raise SystemExit(0)
    _ticks += 1
    if _callback is not None:
        _frame(_callback)


def window_requests_close() -> bool:
    return _closed or session.is_done or _ticks >= session.most_calls


# ---- structures


class _Structure(Silent):
    """Something registered under a name, with `count` points."""

    kind = "structure"

    def __init__(self, name: str, points: ArrayLike) -> None:
        super().__init__()
        self.name = name
        self.points = _points(f"{self.kind} '{name}'", points)
        _registered[self.kind][name] = self

    def _update(self, points: ArrayLike) -> None:
        new = _points(f"{self.kind} '{self.name}'", points)
        if new.shape != self.points.shape:
            raise ValueError(
                f"polyscope: {self.kind} '{self.name}' has {len(self.points)} points and cannot be updated with "
                f"{len(new)}; register it again."
            )
        self.points = new

    def get_name(self) -> str:
        return self.name

    def is_enabled(self) -> bool:
        return bool(self.__dict__.get("_enabled", True))

    def remove(self) -> None:
        _registered[self.kind].pop(self.name, None)


class SurfaceMesh(_Structure):
    """Triangles, quadrilaterals or polygons."""

    kind = "surface_mesh"

    def __init__(self, name: str, vertices: ArrayLike, faces: Any) -> None:
        super().__init__(name, vertices)
        self.faces = _indices(f"surface_mesh '{name}'", faces, len(self.points))

    def update_vertex_positions(self, vertices: ArrayLike) -> None:
        self._update(vertices)

    def n_vertices(self) -> int:
        return len(self.points)

    def n_faces(self) -> int:
        return len(self.faces)


class VolumeMesh(_Structure):
    """Tetrahedra or hexahedra."""

    kind = "volume_mesh"

    def __init__(self, name: str, vertices: ArrayLike, cells: Any) -> None:
        super().__init__(name, vertices)
        self.cells = _indices(f"volume_mesh '{name}'", cells, len(self.points))

    def update_vertex_positions(self, vertices: ArrayLike) -> None:
        self._update(vertices)

    def n_vertices(self) -> int:
        return len(self.points)

    def n_cells(self) -> int:
        return len(self.cells)


class CurveNetwork(_Structure):
    """Lines between nodes."""

    kind = "curve_network"

    def __init__(self, name: str, nodes: ArrayLike, edges: Any) -> None:
        super().__init__(name, nodes)
        count = len(self.points)
        if isinstance(edges, str):
            starts = np.arange(0, count if edges == "loop" else count - 1, 2 if edges == "segments" else 1)
            edges = np.stack([starts, (starts + 1) % max(count, 1)], axis=1)
        self.edges = _indices(f"curve_network '{name}'", edges, count)

    def update_node_positions(self, nodes: ArrayLike) -> None:
        self._update(nodes)

    def n_nodes(self) -> int:
        return len(self.points)

    def n_edges(self) -> int:
        return len(self.edges)


class PointCloud(_Structure):
    """Points."""

    kind = "point_cloud"

    def update_point_positions(self, points: ArrayLike) -> None:
        self._update(points)

    def n_points(self) -> int:
        return len(self.points)


_KINDS = (SurfaceMesh, VolumeMesh, CurveNetwork, PointCloud)
_registered: dict[str, dict[str, _Structure]] = {cls.kind: {} for cls in _KINDS}


def register_surface_mesh(name: str, vertices: ArrayLike, faces: Any, **looks: Any) -> SurfaceMesh:
    return SurfaceMesh(name, vertices, faces)


def register_curve_network(name: str, nodes: ArrayLike, edges: Any, **looks: Any) -> CurveNetwork:
    return CurveNetwork(name, nodes, edges)


def register_point_cloud(name: str, points: ArrayLike, **looks: Any) -> PointCloud:
    return PointCloud(name, points)


def register_volume_mesh(
    name: str, vertices: ArrayLike, tets: Any = None, hexes: Any = None, mixed_cells: Any = None, **looks: Any
) -> VolumeMesh:
    cells = next((given for given in (tets, hexes, mixed_cells) if given is not None), np.zeros((0, 4), int))
    return VolumeMesh(name, vertices, cells)


def remove_all_structures() -> None:
    for structures in _registered.values():
        structures.clear()


remove_everything = remove_all_structures


def _points(who: str, points: ArrayLike) -> Array:
    array = np.array(points, np.float64)
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise ValueError(f"polyscope: {who} was given points of shape {array.shape}; (n, 3) is needed.")
    return array


def _indices(who: str, rows: Any, count: int) -> Any:
    if isinstance(rows, np.ndarray):
        flat = rows.reshape(-1)
    else:
        flat = np.concatenate([np.zeros(0, int), *(np.asarray(row).reshape(-1) for row in rows)])
    used = flat[flat >= 0]  # polyscope fills rows of mixed cells with −1
    if used.size and used.max() >= count:
        raise ValueError(f"polyscope: {who} refers to point {used.max()}, there are 0 to {count - 1}.")
    return rows


# ---- questions that scripts ask


def get_window_size() -> tuple[int, int]:
    return 1280, 720


def get_length_scale() -> float:
    return 1.0


def get_bounding_box() -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    return (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)


def get_camera_view_matrix() -> Array:
    return np.eye(4)


def get_view_as_json() -> str:
    return "{}"


def have_selection() -> bool:
    return False


def screenshot_to_buffer(*options: Any, **named: Any) -> Any:
    """An empty picture."""
    return np.zeros((720, 1280, 4), np.uint8)


def __getattr__(name: str) -> Any:
    """Whatever else polyscope has: `has_…` and `get_…` know what is registered, the rest is accepted."""
    if name.startswith("__"):
        raise AttributeError(name)
    verb, _, kind = name.partition("_")
    if kind in _registered:
        if verb == "has":
            return lambda name: name in _registered[kind]
        if verb == "get":
            return lambda name: _registered[kind][name]
        if verb == "remove":
            return lambda name, *options: _registered[kind].pop(name, None)
    return Silent() if name[0].isupper() else lambda *given, **named: Silent()
