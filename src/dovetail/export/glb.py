"""Animated .glb files (glTF 2.0): a node per body with keyframes of its translation, rotation and stretch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import MissingExtra
from dovetail.export.looks import FLOOR_COLOR, Shape, bounds_of, floor, shapes_of
from dovetail.export.timeline import thinned
from dovetail.files import atomic_write
from dovetail.io.colors import Color, linear  # which glTF takes colours for
from dovetail.io.recording import Recording
from dovetail.picture.camera import up_of
from dovetail.typing import Array
from dovetail.viewer.pose import quaternions, split

__all__ = ["write"]

_VISIBLE = 1e-3  # stretch that is worth keyframes of its own


def write(recording: Recording, path: Path, *, fps: float, speed: float) -> None:
    """One file with meshes, colours and one animation. Up is +y, as glTF wants; shear has no place there."""
    try:
        import pygltflib
    except ImportError:
        raise MissingExtra("export to .glb: pygltflib is missing; pip install 'dovetail[export]'.") from None
    numbers, shown = thinned(recording.times, fps, speed)
    scene = _Scene(pygltflib)
    poses = [split(recording.transforms(frame)) for frame in numbers.tolist()]
    when = scene.accessor(shown.astype(np.float32), "SCALAR", bounds=True)
    children = []
    for k, (body, parts) in enumerate(zip(recording.bodies, shapes_of(recording), strict=True)):
        if not parts:
            continue
        node = scene.node(body.name, scene.mesh(parts))
        children.append(node)
        positions, rotations, scales = (np.array([pose[part][k] for pose in poses]) for part in (1, 0, 2))
        scene.animate(node, when, positions, _continuous(quaternions(rotations)), scales)
    squares = floor(recording, bounds_of(recording, numbers))
    for k, (plane, square) in enumerate(zip(recording.planes, squares, strict=True)):
        children.append(scene.node(plane.name, scene.mesh([(-1 - k, square, FLOOR_COLOR)])))
    scene.root(children, _to_y_up(up_of(recording.gravity)))
    atomic_write(path, scene.content())


def _continuous(q: Array) -> Array:
    """Of q and −q, which are the same rotation, the one nearer to the last keyframe; glTF's order (x, y, z, w)."""
    signs = np.where(np.einsum("ni,ni->n", q[1:], q[:-1]) < 0, -1.0, 1.0)
    q = q * np.concatenate([[1.0], np.cumprod(signs)])[:, None]
    return q[:, [1, 2, 3, 0]]


def _to_y_up(up: Array) -> list[float]:
    """The rotation (x, y, z, w) that turns `up` to +y the shortest way."""
    y = np.array([0.0, 1.0, 0.0])
    axis, w = np.cross(up, y), 1.0 + float(up @ y)
    q = np.array([*axis, w]) if w > 1e-9 else np.array([1.0, 0.0, 0.0, 0.0])
    values: list[float] = (q / np.linalg.norm(q)).tolist()
    return values


class _Scene:
    """A glTF document under construction, with all numbers in one buffer."""

    def __init__(self, gltf: Any) -> None:
        self._gltf = gltf
        self._document = gltf.GLTF2(scene=0, scenes=[gltf.Scene(nodes=[])])
        self._document.asset = gltf.Asset(version="2.0", generator="dovetail")
        self._animation = gltf.Animation(name="motion", channels=[], samplers=[])
        self._bytes = bytearray()
        self._meshes: dict[Any, int] = {}

    def accessor(self, values: NDArray[Any], kind: str, bounds: bool = False, target: int | None = None) -> int:
        """Put numbers into the buffer; the accessor's number."""
        gltf, document = self._gltf, self._document
        component = gltf.UNSIGNED_INT if values.dtype.kind == "u" else gltf.FLOAT
        data = np.ascontiguousarray(values).tobytes()
        document.bufferViews.append(
            gltf.BufferView(buffer=0, byteOffset=len(self._bytes), byteLength=len(data), target=target)
        )
        self._bytes += data + bytes(-len(data) % 4)
        limits: dict[str, Any] = {}
        if bounds:
            rows = values.reshape(len(values), -1)
            limits = {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        count = values.size if kind == "SCALAR" else len(values)
        document.accessors.append(
            gltf.Accessor(
                bufferView=len(document.bufferViews) - 1, componentType=component, count=count, type=kind, **limits
            )
        )
        return len(document.accessors) - 1

    def mesh(self, parts: list[tuple[int, Shape, Color]]) -> int:
        """The mesh of shapes, by their numbers, in colours; equal ones are stored once."""
        key = tuple((number, color) for number, _, color in parts)
        if key not in self._meshes:
            primitives = [self._primitive(shape, color) for _, shape, color in parts]
            self._document.meshes.append(self._gltf.Mesh(primitives=primitives))
            self._meshes[key] = len(self._document.meshes) - 1
        return self._meshes[key]

    def _primitive(self, shape: Shape, color: Color) -> Any:
        gltf, document = self._gltf, self._document
        attributes = gltf.Attributes(
            POSITION=self.accessor(shape.vertices.astype(np.float32), "VEC3", True, gltf.ARRAY_BUFFER),
            NORMAL=self.accessor(shape.normals.astype(np.float32), "VEC3", False, gltf.ARRAY_BUFFER),
        )
        faces = self.accessor(shape.triangles.astype(np.uint32).reshape(-1), "SCALAR", False, gltf.ELEMENT_ARRAY_BUFFER)
        document.materials.append(
            gltf.Material(
                pbrMetallicRoughness=gltf.PbrMetallicRoughness(
                    baseColorFactor=[*linear(color).tolist(), 1.0], metallicFactor=0.0, roughnessFactor=0.7
                ),
                doubleSided=True,
                alphaMode="OPAQUE",
            )
        )
        return gltf.Primitive(attributes=attributes, indices=faces, material=len(document.materials) - 1)

    def node(self, name: str, mesh: int) -> int:
        self._document.nodes.append(self._gltf.Node(name=name, mesh=mesh))
        return len(self._document.nodes) - 1

    def animate(self, node: int, when: int, positions: Array, rotations: Array, scales: Array) -> None:
        """Keyframes of a node; what never changes is written on the node itself."""
        tracks = (("translation", positions, "VEC3", 1e-9), ("rotation", rotations, "VEC4", 1e-9),
                  ("scale", scales, "VEC3", _VISIBLE))  # fmt: skip
        for name, values, kind, least in tracks:
            if name == "scale" and np.abs(values - 1.0).max() < _VISIBLE:
                continue
            setattr(self._document.nodes[node], name, values[0].tolist())
            if len(values) < 2 or np.ptp(values, axis=0).max() < least:
                continue
            output = self.accessor(values.astype(np.float32), kind)
            self._animation.samplers.append(
                self._gltf.AnimationSampler(input=when, output=output, interpolation="LINEAR")
            )
            target = self._gltf.AnimationChannelTarget(node=node, path=name)
            self._animation.channels.append(
                self._gltf.AnimationChannel(sampler=len(self._animation.samplers) - 1, target=target)
            )

    def root(self, children: list[int], rotation: list[float]) -> None:
        """The node that turns everything upright."""
        self._document.nodes.append(self._gltf.Node(name="world", children=children, rotation=rotation))
        self._document.scenes[0].nodes = [len(self._document.nodes) - 1]

    def content(self) -> bytes:
        """The file."""
        if self._animation.channels:
            self._document.animations.append(self._animation)
        self._document.buffers.append(self._gltf.Buffer(byteLength=len(self._bytes)))
        self._document.set_binary_blob(bytes(self._bytes))
        return b"".join(self._document.save_to_bytes())
