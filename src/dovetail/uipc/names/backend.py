"""The module `uipc.backend`: what a scene and a world hold, as an engine sees them, and buffers."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.errors import WorldError
from dovetail.geometry import GeometrySlot
from dovetail.scene import Animator, ConstitutionTabular, ContactTabular, Scene, SubsceneTabular
from dovetail.scene.config import ConfigAttributes
from dovetail.uipc.deformable import absent
from dovetail.uipc.world import World

__all__ = ["AnimatorVisitor", "Buffer", "BufferView", "DiffSimVisitor", "SceneVisitor", "WorldVisitor"]

DiffSimVisitor = absent("DiffSimVisitor", "differentiable simulation is not part of dovetail")


class SceneVisitor:
    """All that a scene holds."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def get(self) -> Scene:
        return self._scene

    def geometries(self) -> list[GeometrySlot]:
        return [slot for slot, _ in self._scene.geometries]

    def rest_geometries(self) -> list[GeometrySlot]:
        return [rest for _, rest in self._scene.geometries]

    def pending_geometries(self) -> list[GeometrySlot]:
        """Those that were added to a running scene: none, it refuses them."""
        return []

    def pending_rest_geometries(self) -> list[GeometrySlot]:
        return []

    def begin_pending(self) -> None:
        """Nothing is pending."""

    def solve_pending(self) -> None:
        """Nothing is pending."""

    def config(self) -> ConfigAttributes:
        return self._scene.config

    def contact_tabular(self) -> ContactTabular:
        return self._scene.contact_tabular

    def subscene_tabular(self) -> SubsceneTabular:
        return self._scene.subscene_tabular

    def constitution_tabular(self) -> ConstitutionTabular:
        return self._scene.constitution_tabular

    def diff_sim(self) -> Any:
        return self._scene.diff_sim()


class AnimatorVisitor:
    """The animations of a scene."""

    def __init__(self, animator: Animator) -> None:
        self._animator = animator

    def get(self) -> Animator:
        return self._animator

    def substep(self) -> int:
        return self._animator.substep()


class WorldVisitor:
    """What a world runs."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get(self) -> World:
        return self._world

    def scene(self) -> SceneVisitor:
        return SceneVisitor(self._world.scene)

    def animator(self) -> AnimatorVisitor:
        return AnimatorVisitor(self.scene().get().animator)


class BufferView:
    """A part of a buffer: `element_count` elements of `element_size` bytes from `element_offset` on."""

    def __init__(
        self,
        handle: int = 0,
        element_offset: int = 0,
        element_count: int = 0,
        element_size: int = 0,
        element_stride: int = 0,
        backend_name: str = "",
    ) -> None:
        self._handle, self._offset, self._count = handle, element_offset, element_count
        self._element_size, self._stride, self._backend = element_size, element_stride, backend_name

    def handle(self) -> int:
        """Address of the first byte of the buffer."""
        return self._handle

    def offset(self) -> int:
        return self._offset

    def size(self) -> int:
        return self._count

    def element_size(self) -> int:
        return self._element_size

    def element_stride(self) -> int:
        return self._stride

    def size_in_bytes(self) -> int:
        return self._count * self._element_size

    def backend(self) -> str:
        return self._backend

    def subview(self, offset: int, element_count: int) -> BufferView:
        if not 0 <= offset <= offset + element_count <= self._count:
            raise WorldError(
                f"BufferView.subview: elements {offset} to {offset + element_count - 1} of {self._count} do not exist."
            )
        return BufferView(
            self._handle, self._offset + offset, element_count, self._element_size, self._stride, self._backend
        )

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The memory as matrices stored by columns, 16 numbers each, else as rows of numbers."""
        size, stride = self._element_size, self._stride
        if size % 8 or not self._handle:
            raise WorldError(f"BufferView: {self!r} does not hold float64 numbers.")
        matrices = size == 128
        return {
            "version": 3,
            "typestr": "<f8",
            "data": (self._handle + self._offset * stride, False),
            "shape": (self._count, 4, 4) if matrices else (self._count, size // 8),
            "strides": (stride, 8, 32) if matrices else (stride, 8),
        }

    def __bool__(self) -> bool:
        return self._handle != 0

    def __repr__(self) -> str:
        return (
            f"BufferView(handle={self._handle}, offset={self._offset}, size={self._count}, "
            f"element_size={self._element_size}, element_stride={self._stride}, backend='{self._backend}')"
        )


class Buffer:
    """Memory for `count` elements of `element_size` bytes."""

    def __init__(self, count: int = 0, element_size: int = 8) -> None:
        self._element_size = element_size
        self._bytes = np.zeros(count * element_size, np.uint8)

    def size(self) -> int:
        return len(self._bytes) // self._element_size

    def resize(self, count: int) -> None:
        """Keep what fits; new elements are zero."""
        old = self._bytes
        self._bytes = np.zeros(count * self._element_size, np.uint8)
        kept = min(len(old), len(self._bytes))
        self._bytes[:kept] = old[:kept]

    def view(self) -> BufferView:
        size = self._element_size
        return BufferView(self._bytes.ctypes.data, 0, self.size(), size, size, "cpu")
