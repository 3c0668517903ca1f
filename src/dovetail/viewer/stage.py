"""The stage: draws bodies, joints, planes and contacts in a viser scene and moves them.

One batched handle per shape and kind of marker, so that a frame costs a few messages, however many bodies there are.
The live viewer and HTML replays use the same stage.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dovetail.io.cast import Cast
from dovetail.io.colors import Color, linear
from dovetail.io.recorded import Look
from dovetail.picture.camera import FIELD_OF_VIEW, Bounds, frame, up_of
from dovetail.picture.mesh import drawn, is_closed
from dovetail.picture.studio import SUN, axes_about, round_number
from dovetail.typing import Array, Indices
from dovetail.viewer.markers import JointDrawing, Markers, joint_frames, joint_markers, limit_sectors
from dovetail.viewer.pose import Poses, quaternions, split
from dovetail.viewer.text import as_label

if TYPE_CHECKING:
    import viser

__all__ = ["ShownContacts", "Stage", "bounds_of"]

_CONTACT = (0.90, 0.20, 0.15)
_SELECTED = (1.0, 0.80, 0.10)
_X_RAY = 0.35
_STRETCH = 1e-3  # smaller changes of a body's scale are not sent
_TURNED = 0.05  # change of the shape of a window, from which on a scene would be cut off or small
_UNSEEN = 1e-3  # of the size of the scene: by how much a body must move before cameras that follow it do
_UPRIGHT, _RAISED = 0.8, 0.24  # width over height of an upright screen; how far up the scene is on it, of its height
_MOST_NAMES = 100  # of bodies and of joints; more cannot be read


class ShownContacts(Protocol):
    """The part of `World.contacts()` that is drawn."""

    @property
    def point(self) -> Array: ...
    @property
    def normal(self) -> Array: ...
    @property
    def normal_force(self) -> Array: ...


def bounds_of(cast: Cast, transforms: Array) -> Bounds:
    """The box around all bodies; around those that can move where the fixed ones are much larger."""

    def box(chosen: list[int]) -> Bounds:
        corners = [
            look.shape.vertices @ transforms[k, :3, :3].T + transforms[k, :3, 3]
            for k in chosen
            for look in cast.bodies[k].looks
        ]
        return Bounds.of(np.concatenate([np.zeros((0, 3)), *corners]))

    everything = box(list(range(len(cast.bodies))))
    moving = box([k for k, body in enumerate(cast.bodies) if not body.fixed])
    return everything if everything.size < 4 * moving.size else moving.joined(everything)


class _Batch(NamedTuple):
    """The bodies that have a shape in common, and its colour, or None where it is that of each body."""

    handle: viser.BatchedMeshHandle
    numbers: Indices
    color: Color | None


class Stage:
    """A scene in the browser. `show` moves it to a frame; `colours` and `visible` are per body, then `restyle`.

    transforms   (n, 4, 4) of all bodies at first
    offsets      init_angle or init_distance of every joint: limits count from there
    bounds       where everything will happen, if that is known; by default where everything is
    """

    def __init__(
        self,
        server: viser.ViserServer,
        cast: Cast,
        transforms: Array,
        offsets: Array,
        bounds: Bounds | None = None,
    ) -> None:
        self._server, self._api = server, server.scene
        self.cast = cast
        self.up = up_of(cast.gravity)
        self.bounds = bounds or bounds_of(cast, transforms)
        self.colours = np.array([body.color for body in cast.bodies], float).reshape(-1, 3)
        self.visible = np.ones(len(cast.bodies), bool)
        self.selected: int | None = None
        self.followed: int | None = None
        """The body that cameras go along with."""
        self._led: Array | None = None  # where it was when they last moved
        self._names: dict[str, list[tuple[Any, int, Array]]] = {}  # labels with body and material point
        self._strongest = 0.0
        self._aimed: dict[int, tuple[float, Array]] = {}  # shape of the window, and where its camera was put
        poses = split(transforms)
        self._light()
        self._planes()
        self.batches = self._bodies(poses)
        self._markers = self._joints(transforms, poses, offsets)
        self._frames = self._joint_frames(transforms, poses)
        self._contacts = self._contact_handles()
        self._scales = poses.scales

    # --- building -----------------------------------------------------------------------------------------------

    def _light(self) -> None:
        self._api.set_up_direction(tuple(self.up))
        self._api.world_axes.visible = False
        self._api.configure_default_lights(enabled=False)
        self._api.configure_environment_map(None)
        x, y, z = axes_about(self.up)
        self._api.add_light_ambient("/light/ambient", intensity=1.25)
        for name, direction, strength, shadow in (
            ("key", SUN[0] * x + SUN[1] * y + SUN[2] * z, 2.3, True),
            ("fill", 0.9 * x - 0.3 * y + 0.4 * z, 0.9, False),
        ):
            self._api.add_light_directional(
                f"/light/{name}", intensity=strength, cast_shadow=shadow, position=tuple(direction * self.bounds.size)
            )

    def _planes(self) -> None:
        """A grid on every half-plane; without one, a paler grid below everything, to show which way is down."""
        size = self.bounds.size
        cell = round_number(size / 8)
        planes = [(plane.name, plane.point, plane.normal, True) for plane in self.cast.planes]
        if not planes:
            corners = np.array([self.bounds.lower, self.bounds.upper])
            lowest = min(float((corner * self.up).sum()) for corner in corners)
            planes = [("below", (lowest - 0.02 * size) * self.up, self.up, False)]
        for k, (name, point, normal, real) in enumerate(planes):
            centre = self.bounds.centre - ((self.bounds.centre - point) @ normal) * normal
            rotation = np.stack(axes_about(normal), axis=1)
            tone = 216 if real else 232
            self._api.add_grid(
                f"/planes/{k} {_node(name)}", width=4 * size, height=4 * size, plane="xy", infinite_grid=True,
                cell_size=cell, section_size=5 * cell, cell_color=(tone + 4,) * 3, section_color=(tone - 16,) * 3,
                fade_distance=5 * size, fade_from="camera", shadow_opacity=0.34 if real else 0.0,
                plane_color=(232, 234, 238), plane_opacity=1.0 if real else 0.0,
                wxyz=quaternions(rotation[None])[0], position=centre,
            )  # fmt: skip

    def _bodies(self, poses: Poses) -> list[_Batch]:
        alike: dict[tuple[int, Color | None], tuple[Look, list[int]]] = {}
        for number, body in enumerate(self.cast.bodies):
            for look in body.looks if body.is_seen or not body.fixed else ():  # fixed points are there for joints alone
                alike.setdefault((id(look.shape), look.color), (look, []))[1].append(number)
        found = []
        for k, ((shape, color), numbers) in enumerate(alike.values()):
            mesh = drawn(shape, 0.02 * self.bounds.size)
            name = self.cast.bodies[numbers[0]].name.split("[")[0]
            handle = self._api.add_batched_meshes_simple(
                f"/bodies/{k} {_node(name)}", mesh.vertices, mesh.triangles,
                quaternions(poses.rotations[numbers]), poses.positions[numbers], batched_scales=poses.scales[numbers],
                batched_colors=self._painted(np.array(numbers), color), lod="off",
                side="front" if is_closed(shape) else "double",  # shadows on both sides of one surface flicker
            )  # fmt: skip
            found.append(_Batch(handle, np.array(numbers), color))
        return found

    def _joints(self, transforms: Array, poses: Poses, offsets: Array) -> list[tuple[Markers, Any]]:
        cast = self.cast
        seen_from = np.asarray(frame(self.bounds, self.up).pos)
        drawings = [
            JointDrawing(joint, cast.bodies, transforms, offset, seen_from)
            for joint, offset in zip(cast.joints, offsets.tolist(), strict=True)
        ]
        solid, clear = joint_markers(drawings), limit_sectors(drawings)
        found: list[tuple[Markers, Any]] = []
        for k, markers in enumerate([*solid, *clear]):
            wxyz, at = markers.placed(transforms, poses)
            handle = self._api.add_batched_meshes_simple(
                f"/joints/{k}", markers.mesh.vertices, markers.mesh.triangles, wxyz, at,
                batched_scales=markers.scales, batched_colors=_linear_bytes(markers.colours), lod="off", side="double",
                opacity=0.6 if k >= len(solid) else None, cast_shadow=False, receive_shadow=False,
            )  # fmt: skip
            found.append((markers, handle))
        return found

    def _joint_frames(self, transforms: Array, poses: Poses) -> tuple[Markers, Any] | None:
        markers = joint_frames(self.cast.joints)
        if markers is None:
            return None
        wxyz, at = markers.placed(transforms, poses)
        length = 0.05 * self.bounds.size
        handle = self._api.add_batched_axes(
            "/joint frames", wxyz, at, axes_length=length, axes_radius=0.03 * length, visible=False
        )
        return markers, handle

    def _contact_handles(self) -> tuple[Any, Any]:
        size = self.bounds.size
        points = self._api.add_point_cloud(
            "/contacts/points", np.zeros((0, 3), np.float32), _bytes(np.array(_CONTACT)),
            point_size=0.005 * size, point_shape="circle", precision="float32",
        )  # fmt: skip
        forces = self._api.add_line_segments(
            "/contacts/forces", np.zeros((0, 2, 3), np.float32), _bytes(np.array(_CONTACT)), thickness=0.0025 * size
        )
        return points, forces

    def _labels(self, what: str) -> list[tuple[Any, int, Array]]:
        """Names of the bodies at their centres, or of the joints at their anchors."""
        bodies = [(k, body) for k, body in enumerate(self.cast.bodies) if body.is_seen]
        places = (
            [(body.name, k, body.mass_center) for k, body in bodies]
            if what == "body names"
            else [(joint.name, joint.left, joint.left_anchor) for joint in self.cast.joints]
        )
        options: dict[str, Any] = {"font_screen_scale": 0.8, "anchor": "center-center"}
        return [
            (self._api.add_label(f"/{what}/{n}", as_label(name), **options), k, at)
            for n, (name, k, at) in enumerate(places[:_MOST_NAMES])
        ]

    # --- every frame --------------------------------------------------------------------------------------------

    def show(self, transforms: Array, contacts: ShownContacts | None = None) -> None:
        """Move everything to these transforms (n, 4, 4), and draw contacts, if there are any."""
        poses = split(transforms)
        stretched = np.abs(poses.scales - self._scales).max(axis=1, initial=0.0) > _STRETCH
        self._scales[stretched] = poses.scales[stretched]
        with self._server.atomic():
            for batch in self.batches:
                batch.handle.batched_wxyzs = quaternions(poses.rotations[batch.numbers]).astype(np.float32)
                batch.handle.batched_positions = poses.positions[batch.numbers].astype(np.float32)
                if stretched[batch.numbers].any():
                    batch.handle.batched_scales = self._shown_scales(batch)
            for markers, handle in [*self._markers, *([self._frames] if self._frames else [])]:
                if handle.visible:
                    wxyz, at = markers.placed(transforms, poses)
                    handle.batched_wxyzs, handle.batched_positions = wxyz.astype(np.float32), at.astype(np.float32)
            self._show_contacts(contacts)
            for label, body, point in itertools.chain(*self._names.values()):
                label.position = transforms[body, :3, :3] @ point + transforms[body, :3, 3]
        self._lead(transforms)

    def _lead(self, transforms: Array) -> None:
        """Move the cameras of all who look by as much as the body that they follow has moved."""
        if self.followed is None:
            self._led = None
            return
        k = self.followed
        centre = transforms[k, :3, :3] @ self.cast.bodies[k].mass_center + transforms[k, :3, 3]
        moved = np.zeros(3) if self._led is None else centre - self._led
        if self._led is None or np.linalg.norm(moved) > _UNSEEN * self.bounds.size:
            self._led = centre
            for client in self._server.get_clients().values():
                with client.atomic():
                    client.camera.position = client.camera.position + moved

    def _show_contacts(self, contacts: ShownContacts | None) -> None:
        """A dot at each contact and a line along its normal, longer for a larger force."""
        points, forces = self._contacts
        if not points.visible:
            return
        if contacts is None:
            at, lines = np.zeros((0, 3)), np.zeros((0, 2, 3))
        else:
            f, at = contacts.normal_force, contacts.point
            self._strongest = max(self._strongest, float(f.max(initial=0.0)))
            length = 0.08 * self.bounds.size * np.sqrt(f / (self._strongest or 1.0))
            lines = np.stack([at, at + length[:, None] * contacts.normal], axis=1)
        if len(at) or len(points.points):
            points.points, forces.points = at.astype(np.float32), lines.astype(np.float32)

    # --- looks --------------------------------------------------------------------------------------------------

    def restyle(self) -> None:
        """Send colours, visibility and the selection of bodies."""
        for batch in self.batches:
            batch.handle.batched_colors = self._painted(batch.numbers, batch.color)
            batch.handle.batched_scales = self._shown_scales(batch)

    def _painted(self, numbers: Indices, color: Color | None) -> Any:
        """What bodies are drawn in: a colour, or their own, the selected one lit."""
        colours = self.colours[numbers] if color is None else np.tile(np.array(color, float), (len(numbers), 1))
        lit = numbers == self.selected
        colours[lit] = 0.45 * colours[lit] + 0.55 * np.array(_SELECTED)
        return _linear_bytes(colours)

    def _shown_scales(self, batch: _Batch) -> Any:
        """Scales of the bodies of a batch; 0 of those that are hidden."""
        return (self.visible[batch.numbers, None] * self._scales[batch.numbers]).astype(np.float32)

    def switch(self, what: str, on: bool) -> None:
        """Show or hide joints, joint frames, contacts, body names, joint names; x-ray makes bodies transparent."""
        if what.endswith(" names"):
            for label, _, _ in self._names.pop(what, []):
                label.remove()
            if on:
                self._names[what] = self._labels(what)
        elif what == "x-ray":
            for batch in self.batches:
                batch.handle.opacity = _X_RAY if on else None
        elif what == "joints":
            for _, handle in self._markers:
                handle.visible = on
        elif what == "joint frames":
            if self._frames:
                self._frames[1].visible = on
        else:
            for handle in self._contacts:
                handle.visible = on

    def aim(self, bounds: Bounds | None = None) -> None:
        """Put the camera of everyone who looks, and of those who come, in front of `bounds`, by default everything."""
        far = 60 * self.bounds.size
        camera, start = frame(bounds or self.bounds, self.up), self._server.initial_camera
        start.position, start.look_at, start.up = np.asarray(camera.pos), np.asarray(camera.look_at), self.up
        start.fov, start.near, start.far = FIELD_OF_VIEW, far / 2e4, far
        for client in self._server.get_clients().values():
            self.aim_for(client, bounds)

    def aim_for(self, client: viser.ClientHandle, bounds: Bounds | None = None) -> None:
        """The same for one who looks; on an upright screen above the panel, which is at the bottom there."""
        aspect = client.camera.aspect
        camera = frame(bounds or self.bounds, self.up, aspect)
        eye, target = np.asarray(camera.pos), np.asarray(camera.look_at)
        if aspect < _UPRIGHT:
            ahead = target - eye
            across = np.cross(ahead, self.up)
            above = np.cross(across, ahead) / (np.linalg.norm(across) * np.linalg.norm(ahead))
            shift = _RAISED * 2 * np.tan(FIELD_OF_VIEW / 2) * np.linalg.norm(ahead) * above
            eye, target = eye - shift, target - shift
        with client.atomic():
            client.camera.up_direction = self.up
            client.camera.position, client.camera.look_at = eye, target
        self._aimed[client.client_id] = aspect, eye

    def aim_again(self, client: viser.ClientHandle) -> None:
        """The same for a screen that was turned, or that had not yet its shape, if its camera is where it was put."""
        before, eye = self._aimed.get(client.client_id, (0.0, np.zeros(3)))
        stays = float(np.linalg.norm(client.camera.position - eye)) < 1e-3 * self.bounds.size
        if before and stays and abs(client.camera.aspect / before - 1.0) > _TURNED:
            self.aim_for(client)


def _node(name: str) -> str:
    """Part of the path of a node."""
    return as_label(name.replace("/", " "))


def _bytes(colours: Array) -> Any:
    """Colours (…, 3) as bytes."""
    return np.round(255 * np.clip(colours, 0.0, 1.0)).astype(np.uint8)


def _linear_bytes(colours: Array) -> Any:
    """Colours (…, 3) as bytes of light, which is what viser takes those of batched meshes for."""
    return _bytes(linear(colours))
