"""The public surface of dovetail as calls with good arguments, found by looking at what modules and objects offer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple, get_origin

import numpy as np

from dovetail import (
    Engine,
    Part,
    Scene,
    Sim,
    constitution,
    core,
    doctor,
    export,
    extend,
    fit,
    geometry,
    gradient,
    io,
    study,
    values,
    worlds,
)
from dovetail.constitution import constitution_classes
from dovetail.differentiable import RolloutFunction
from dovetail.geometry import affine_body
from dovetail.robot import read, robot
from dovetail.scene import config
from dovetail.sim import BodyOptions, HoldOptions, JointOptions, TerrainOptions

__all__ = ["Call", "Stage"]

MODULES = (
    *(values, geometry, affine_body, constitution, core, io, export, extend, doctor),
    *(gradient, fit, study, worlds, read, robot, config),
)

# Reachable, but not for users to call: what a Sim, a scene or a world hands out is made by it, and some methods pass
# objects of the solver between dovetail's own parts. What they do is reached through the handles, which are all here.
MADE_BY_OTHERS = {
    *("AffineBodyPushFeature", "AffineBodyStateAccessorFeature", "AttributeSlot", "CStringSpan", "StringSpan"),
    *("ConstitutionTabular", "ContactModel", "ContactModelCollection", "ContactSystemFeature", "Feature"),
    *("FeatureCollection", "Finding", "GeometrySlot", "ImplicitGeometrySlot", "Object", "SanityCheckMessage"),
    *("SanityCheckResult", "SanityChecker", "SceneSnapshotCommit", "SimplicialComplexSlot", "SubsceneModel"),
    *("SubsceneModelCollection", "Animator", "Coordinate", "Term", "Law"),
    *("Tape", "Gradients", "Trajectories", "WorldGradients", "Robot", "Frame", "Identified", "Optimum"),
}
INSIDE = {
    *("edit", "replace", "of", "insert_buffer", "select", "buffer", "prepare", "check", "laws_on", "elements"),
    *("write_state", "freeze", "require_changeable", "restore", "count_from", "discard", "admits", "add"),
    *("get", "set", "has", "number", "coordinates", "view", "run", "adopt"),
}
STARTING = {"step", "run", "energy", "contacts", "world", "state", "save", "load", "record", "home", "reset", "picture"}
"""What starts a simulation, after which nothing can be added."""

# … but these are the users'
OUTSIDE = {"World.restore", "Sim.run", "AffineBodyPushFeature.set", "Drive.add"}
OPERATORS = ("__getitem__", "__setitem__", "__contains__", "__mul__", "__iter__", "__len__", "__repr__", "__call__")


class Call(NamedTuple):
    """Something that can be called: `function(**good)` works, or is refused with a good reason."""

    label: str
    function: Callable[..., Any]
    good: dict[str, Any]
    positional: bool


CORNERS = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]


def tetrahedron() -> Any:
    """The smallest closed mesh."""
    mesh = geometry.trimesh(CORNERS, FACES)
    geometry.label_surface(mesh)
    return mesh


def machine() -> Sim:
    """A simulation with a joint of every kind, a drive, a limit, and bodies that touch nothing."""
    sim = Sim(config={"newton/max_iter": 8, "line_search/max_iter": 8})
    box = sim.box(0.1, pos=(0, 0, 1), name="box", color="red")
    box.force = (0, 0, 0)
    near = [sim.box(0.1, pos=(0, 0.2 * k, 1.5), name=f"part {k}") for k in range(9)]
    axis, pos = (1, 0, 0), (0, 0, 1.2)
    sim.revolute(None, box, pos, axis, name="hinge", limit=(-1, 1), drive=True, damping=0.1, friction=0.1)
    sim.prismatic(None, near[0], axis, limit=(-1, 1), hard=True)
    sim.spherical(near[0], near[1], pos)
    sim.fixed(near[1], near[2])
    sim.cylindrical(near[2], near[3], pos, axis)
    sim.screw(near[3], near[4], pos, axis, 0.1)
    sim.universal(near[4], near[5], pos, axis)
    sim.planar(near[5], near[6], pos, axis)
    sim.point_on_line(near[6], near[7], pos, axis)
    sim.distance(near[7], near[8], (0, 0, 1), pos)
    sim.ground()
    return sim


def pendulum(p: Any = 1.0, rng: Any = None) -> Sim:
    """A rod on a hinge that takes torques, of this mass."""
    sim = Sim(contact=False, config={"newton/max_iter": 8})
    rod = sim.box((0.6, 0.1, 0.1), pos=(0.3, 0, 1), mass=float(np.append(p, 1.0)[0]), name="rod")
    sim.revolute(None, rod, (0, 0, 1), (0, 1, 0), name="pivot", drive=0.0)
    return sim


def swing(sim: Sim, rng: Any) -> Any:
    """The same for `Worlds`."""
    rod = sim.box((0.6, 0.1, 0.1), pos=(0.3, 0, 1), name="rod")
    sim.revolute(None, rod, (0, 0, 1), (0, 1, 0), name="pivot", drive=0.0)


def nothing(case: Any, rng: Any) -> dict[str, Any]:
    """The result of a case."""
    return {"x": 1}


class Here:
    """An executor that does the work at once."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""


class Stage:
    """Fresh objects of every kind, and the calls that they and the modules offer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.building = machine()
        self.running = machine()
        self.world = self.running.world
        self.world.engine._workspace = folder  # dumps go where the test's files go
        self.state = self.running.state
        self.scene = self._scene()
        self.mesh = tetrahedron()
        self.joint = self._joint()
        self.recording = self._recording()
        geometry.SimplicialComplexIO().write(folder / "x.obj", self.mesh)
        io.SceneIO(self.scene).save(folder / "scene.json")
        self.state.save(folder / "machine.state")
        (folder / "r.urdf").write_text(URDF)
        self.robots = Sim(contact=False)
        self.robot = self.robots.robot(folder / "r.urdf", pos=(0, 0, 1))
        self.swinging = pendulum()
        self.tape = self.swinging.rollout(2)
        self.gradients = self.tape.backward(np.zeros(self.tape.Q.shape))
        self.worlds = worlds.Worlds(swing, 2, contact=False)
        self.trajectories = worlds.rollout(self.worlds, steps=2, gradients=True)
        self._good = self._arguments()
        self._special = self._by_owner()

    def _scene(self) -> Scene:
        scene = Scene()
        self.element = scene.contact_tabular.create("rubber")
        self.subscene = scene.subscene_tabular.create("attic")
        self.object = scene.objects.create("thing")
        shape = tetrahedron()
        constitution.AffineBodyConstitution().apply_to(shape, 1e8)
        self.slots = [scene.objects.create(name).geometries.create(shape)[0] for name in ("left", "right")]
        return scene

    def _joint(self) -> Any:
        left, right = self.slots
        ends = ([left], [0], [right], [0], [100.0])
        self.pin = constitution.AffineBodySphericalJoint().create_geometry([[0, 0, 0]], *ends)
        self.solid = geometry.tetmesh(CORNERS, [[0, 1, 2, 3]])
        for prepare in (geometry.label_surface, geometry.label_triangle_orient, geometry.label_region):
            prepare(self.solid)
        self.motor = tetrahedron()
        constitution.AffineBodyConstitution().apply_to(self.motor, 1e8)
        constitution.RotatingMotor().apply_to(self.motor)
        constitution.LinearMotor().apply_to(self.motor)
        return constitution.AffineBodyRevoluteJoint().create_geometry([[0, 0, 0]], [[0, 0, 1]], *ends)

    def _recording(self) -> io.Recording:
        path = self.folder / "machine.dove"
        if not path.exists():
            with io.Recorder(path, self.world) as recorder:
                recorder.write()
        return io.Recording(path)

    # --- good arguments -------------------------------------------------------------------------------------

    def good(self, owner: str, name: str) -> Any:
        """An argument by its name that makes sense; KeyError where none is known."""
        if name in ("L", "R"):
            return self.subscene if "Subscene" in owner else self.element
        if name == "sc" and owner.startswith("AffineBody") and "Joint" in owner:
            return self.pin if owner.startswith(("AffineBodyFixed", "AffineBodySpherical")) else self.joint
        special = self._special.get((owner.split(".")[0], name))
        return self._good[name] if special is None else special

    def _by_owner(self) -> dict[tuple[str, str], Any]:
        """Arguments whose name alone does not say what they are."""
        found: dict[tuple[str, str], Any] = {}
        for kind in (getattr(values, name) for name in values.__all__):
            if hasattr(kind, "LinSpaced"):
                found[kind.__name__, "start"], found[kind.__name__, "end"] = 0.0, 1.0
            if hasattr(kind, "shape"):
                found[kind.__name__, "values"] = np.zeros(kind.shape())
        for kind in ("AttributeCollection", "SimplexCollection", "MetaCollection"):
            found[kind, "name"] = {"A": "transform", "S": "topo", "M": "constitution_uid"}[kind[0]]
        found["ConfigAttributes", "name"] = "dt"
        found["Sim", "name"] = "box"
        found["Sim", "x"] = (0, 1, 0)
        found["Sim", "slot"] = self.building["box"].slot
        found["EngineStatus", "type"] = found["EngineStatus", "what"] = found["EngineStatus", "msg"] = "info"
        found["SceneSnapshotCommit", "new"] = core.SceneSnapshot(self.scene)
        found["SceneIO", "filename"] = self.folder / "scene.json"
        found["WorldState", "path"] = self.folder / "machine.state"
        found["export", "path"] = "x.csv"
        found |= self._of_gradients()
        found |= {("Worlds", name): value for name, value in {"build": swing, "n": 2, "q": [0.1], "v": [0.1]}.items()}
        found |= {("Worlds", name): 0 for name in ("which", "number")}
        found["rollout", "worlds"], found["rollout", "controls"] = self.worlds, np.zeros((2, 1))
        found["rollout", "initial_state"], found["rollout", "control"] = None, "target"
        found["sweep", "run"], found["sweep", "cases"], found["sweep", "executor"] = nothing, [{"a": 1}], Here()
        found["sweep", "out"], found["sweep", "processes"] = self.folder / "rows.jsonl", 1
        found["read_robot", "path"], found["read_robot", "folders"] = self.folder / "r.urdf", []
        found["Robot", "body"], found["Robot", "q"] = self.robot.base, [0.0]
        found["Robot", "v"] = [0.0]
        found["ConfigAttributes", "overrides"] = {"dt": 0.01}
        found["Parameter", "attribute"], found["Parameter", "value"] = "x", None
        found["Parameter", "start"] = found["Parameter", "step"] = False
        found["label_triangle_orient", "sc"] = self.solid
        found["apply_region", "sc"] = found["flip_inward_triangles", "sc"] = self.solid
        found["RotatingMotor", "sc"] = found["LinearMotor", "sc"] = self.motor
        return found

    def _of_gradients(self) -> dict[tuple[str, str], Any]:
        """Those of tapes, gradients and what fits numbers with them."""
        shape, n = self.tape.Q.shape, self.tape.steps
        given = {
            "Tape": {
                "body": "rod", "joint": "pivot", "attribute": "angle", "steps": 1, "controls": lambda *_: None, "k": 0,
                "dL_dQ": np.zeros(shape), "dL_dV": np.zeros(shape), "dL_dx": {("pivot", "angle"): np.zeros((n + 1, 1))},
                "dL_drate": {("pivot", "angle"): np.zeros((n + 1, 1))}, "dL_dT": {"rod": np.zeros((n + 1, 4, 4))},
                "dQ": np.zeros(shape[1:]), "dV": np.zeros(shape[1:]), "dF": np.zeros(shape[1:]), "mechanism": None,
            },
            "Gradients": {
                "build": pendulum, "p": [1.0], "of": ("pivot", "drive/target"), "joint": "pivot",
                "attribute": "drive/target",
            },
            "Trajectories": {"dL_dq": np.zeros((2, 2, 1)), "dL_dv": np.zeros((2, 2, 1))},
            "optimise": {
                "function": RolloutFunction(self.swinging, 2, ["V"]), "start": [np.zeros(shape[1:])], "rollouts": 2,
                "loss": lambda Q, V, *_: (0.0, np.zeros(Q.shape), None), "bounds": [None], "goal": -1.0,
            },
            "identify": {
                "build": pendulum, "p": [1.0], "data": np.zeros(3), "steps": 2, "controls": lambda *_: None,
                "measure": lambda tape: tape.Q[:, -1, 0, 0], "names": ["m"], "bounds": [(0.5, 2.0)], "confidence": 0.9,
            },
        }  # fmt: skip
        return {(owner, name): value for owner, some in given.items() for name, value in some.items()}

    def _arguments(self) -> dict[str, Any]:
        left, right = self.slots
        sim = self.building
        return {
            "Vs": CORNERS, "Ts": [[0, 1, 2, 3]], "Fs": FACES, "Es": [[0, 1]], "P": (0, 0, 0), "N": (0, 1, 0),
            "height": 0.0, "angle": 1.0, "axis": (0, 0, 1), "heights": [[0.0, 0.1], [0.1, 0.3]],
            "parts": [Part.box(0.1)],
            "engine": Engine("cpu", self.folder),
            "body_force_density": (0, 0, 1), "callback": lambda *_: None, "function": lambda *_: None,
            "center_of_mass": (0, 0, 0), "inertia_cm": np.eye(3), "complexes": [self.mesh], "rho": 1.0,
            "constitution": constitution.AffineBodyConstitution(), "coordinate": "", "cross": (0, 1, 0),
            "damping": 1.0, "stiffness": 1.0, "max_effort": 1.0, "lower": -1.0, "upper": 1.0, "dst": CORNERS,
            "src": CORNERS, "edge_mesh": geometry.linemesh(CORNERS, [[0, 1]]), "triangle_mesh": self.mesh,
            "vertex_mesh": self.mesh, "end": (0, 0, 1), "start": (0, 0, 0), "file": "x.obj", "filename": "x.json",
            "path": "x.dove", "folder": ".", "force": 1.0, "torque": 1.0, "frame": 0,
            "geo": self.mesh, "geometry": self.mesh, "i": 0, "j": 0, "id": 0, "indices": [0, 1, 2, 3], "joint": "hinge",
            "json": io.SceneIO(self.scene).to_json(), "commit_json": {}, "kappa": 1e8, "key": "contact", "left": None,
            "right": sim.bodies[0], "length": 0.2, "radius": 0.1, "local": (0, 0, 0), "point": (0, 0, 0), "m": 1.0,
            "m_x_bar": (0, 0, 0), "m_x_bar_x_bar": np.eye(3), "mass": 1.0, "matrix": np.eye(4), "mesh": self.mesh,
            "motor_axis": (0, 0, 1), "name": "x", "normal": (0, 0, 1), "object": self.object, "pos": (0, 0, 1),
            "pitch": 0.1, "q": np.zeros(12), "q_v": np.zeros(12), "recording": self.recording, "resolution": 0.5,
            "reference": core.SceneSnapshot(self.scene), "last": core.SceneSnapshot(self.scene), "scale": 1.0,
            "rotation": geometry.AngleAxis(1.0, (0, 0, 1)), "sc": self.mesh,
            "scene": self.scene, "size": 4, "slot": self.mesh.positions, "snapshot": core.SceneSnapshot(self.scene),
            "source": self.mesh, "state": self.state, "status": core.EngineStatus("info", "x"), "surface": self.mesh,
            "transform": np.eye(4), "transform_v": np.eye(4), "translation": (0, 0, 1), "uid": 1, "value": 1.0,
            "values": (0, 0, 1), "vectors": np.zeros((2, 3)), "world": self.world, "workspace": self.folder,
            "written": self.mesh.to_json(), "wxyz": (1, 0, 0, 0), "x": 1.0, "level": 1, "bodies": [0],
            "forces": [[0, 0, 1]], "points": [[0, 0, 0]], "joint_slots": [], "steps": 1, "dst_frame": 0,
            "max_distance": 1.0, "thickness": 0.01, "mass_density": 1000.0, "friction_rate": 0.5, "resistance": 1e9,
            "buffer_view": np.zeros((1, 4, 4)), "body_count": 1, "commit": {}, "dt": 0.01, "max_d_hat": 0.01,
            "primitive_type": "PT", "rows": 1, "parameters": (), "row": "c", "law": extend.Damper(),
            "other": np.zeros(3), "index": 0, "step": None, "n": None, "dim": -1, "tolerance": 1e-6,
            # forms of constitutions
            "position0s": [[0, 0, 0]], "position1s": [[0, 0, 1]], "positions": [[0, 0, 0]], "l_geo_slots": [left],
            "r_geo_slots": [right], "l_instance_ids": [0], "r_instance_ids": [0], "strength_ratios": [100.0],
            "leader_slots": [], "follower_slots": [], "leader_indices": [0], "follower_indices": [0], "ratios": [1.0],
        }  # fmt: skip

    # --- what there is --------------------------------------------------------------------------------------

    def calls(self) -> Iterator[Call]:
        """Everything that modules and objects offer."""
        for module in MODULES:
            for name in module.__all__:
                thing = getattr(module, name)
                if inspect.isclass(thing):
                    yield from self._class(name, thing)
                elif callable(thing) and get_origin(thing) is None:
                    yield from self._callable(name, "", thing)
        yield from self._callable("Sim", "", Sim)
        yield from self._callable("Scene", "", Scene)
        yield from self._forms()
        for label, thing in self.things():
            yield from self._object(label, thing)

    def things(self) -> Iterator[tuple[str, Any]]:
        """One live object of each kind."""
        for when, sim in (("new", self.building), ("run", self.running)):
            yield when, sim
            yield when, sim["box"]
            yield when, sim["part 1"]
            for joint in sim.joints:
                yield when, joint
                for coordinate in joint.coordinates.values():
                    yield when, coordinate
                    yield when, coordinate.drive
            yield when, sim.scene.config
            yield when, sim.scene.objects
            yield when, sim.scene.geometries
            yield when, sim["box"].slot.geometry.instances
        yield "run", self.running.mechanism()
        yield from (("", thing) for thing in (self.robot, self.robot.frames["b"], self.tape, self.gradients))
        yield from (("", thing) for thing in (self.worlds, self.trajectories))
        yield from (("", thing) for thing in self._scene_things())
        yield from (("", thing) for thing in self._world_things())
        yield from (("", thing) for thing in self._geometry_things())
        yield from (("", kind()) for kind in constitution_classes().values())

    def _scene_things(self) -> Iterator[Any]:
        scene = self.scene
        yield from (scene, scene.config, scene.objects, scene.geometries, scene.contact_tabular, scene.subscene_tabular)
        yield from (scene.constitution_tabular, scene.animator, self.object, self.object.geometries, self.element)
        yield from (self.subscene, scene.contact_tabular.contact_models(), scene.contact_tabular.at(0, 1))
        yield from (scene.subscene_tabular.subscene_models(), core.SceneSnapshot(scene), io.SceneIO(scene))
        yield from (core.SceneFactory(), core.Animation(self.object, lambda _: None), *self.slots)

    def _world_things(self) -> Iterator[Any]:
        world = self.world
        yield from (world, world.engine, world.engine.status(), world.features(), world.contacts(), self.state)
        yield from (world.features().find(name) for name in world.features().to_json())
        yield from (world.sanity_checker(), self.recording, self.running.energy)

    def _geometry_things(self) -> Iterator[Any]:
        mesh = self.mesh
        yield from (mesh, geometry.tetmesh(CORNERS, [[0, 1, 2, 3]]), geometry.linemesh(CORNERS, [[0, 1]]))
        yield from (geometry.pointcloud(CORNERS), geometry.ground(), mesh.meta, mesh.vertices, mesh.triangles)
        yield from (mesh.positions, mesh.triangles.topo, mesh.transforms, mesh.triangles.slot("is_surf"))
        yield from (mesh.vertices.create("text", "x"), mesh.meta.create_uid_list("uids"))
        yield from (geometry.view(mesh.vertices.slot("text")), geometry.Transform.Identity())
        yield from (geometry.Quaternion.Identity(), geometry.AngleAxis.Identity(), geometry.GeometryAtlas())
        yield from (
            geometry.SimplicialComplexIO(),
            geometry.SpreadSheetIO(self.folder),
            geometry.AttributeIO(self.folder / "x.obj"),
        )

    def steps(self) -> Iterator[Call]:
        """What the machine that runs does after all that happened to it."""
        yield Call("step", self.running.step, {}, False)
        yield Call("repr", lambda: [repr(thing) for thing in (*self.running.bodies, *self.running.joints)], {}, False)

    def start(self) -> Call:
        """The start of what was in the making, after all that happened to it."""
        return Call("start", lambda: self.building.step(), {}, False)

    # --- from things to calls -------------------------------------------------------------------------------

    def _class(self, name: str, kind: type) -> Iterator[Call]:
        if issubclass(kind, BaseException) or kind.__name__.startswith("_"):
            return
        inherited = {parent.__name__ for parent in kind.__mro__}
        if not inherited & MADE_BY_OTHERS and not name.endswith(("Joint", "Constitution", "Constraint")):
            yield from self._callable(name, "", kind)
        for member in dir(kind):
            raw = inspect.getattr_static(kind, member)
            if isinstance(raw, (classmethod, staticmethod)) and not member.startswith("_") and member not in INSIDE:
                yield from self._callable(f"{name}.{member}", name, getattr(kind, member))

    def _object(self, when: str, thing: Any) -> Iterator[Call]:
        kind = type(thing)
        label = f"{kind.__name__}" if not when else f"{when} {kind.__name__}"
        for member in dir(kind):
            if member in OPERATORS and callable(getattr(kind, member)) and not issubclass(kind, dict):
                yield from self._callable(f"{label}.{member}", kind.__name__, getattr(thing, member))
            if member.startswith("_") or (member in INSIDE and f"{kind.__name__}.{member}" not in OUTSIDE):
                continue
            if thing is self.building and member in STARTING:
                continue
            raw = inspect.getattr_static(kind, member)
            if isinstance(raw, property):
                yield Call(f"{label}.{member}", lambda thing=thing, member=member: getattr(thing, member), {}, False)
                if raw.fset is not None:
                    yield Call(
                        f"{label}.{member} = value",
                        lambda value, thing=thing, member=member: setattr(thing, member, value),
                        {"value": getattr(thing, member)},
                        True,
                    )
            elif inspect.isfunction(raw):
                yield from self._callable(f"{label}.{member}", kind.__name__, getattr(thing, member))

    def _callable(self, label: str, owner: str, function: Callable[..., Any]) -> Iterator[Call]:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # what is built into Python is not ours
            return
        good: dict[str, Any] = {}
        positional = all(p.kind is not p.KEYWORD_ONLY for p in parameters)
        for p in parameters:
            if p.kind is p.VAR_POSITIONAL:
                return  # has several forms; these are listed below
            if p.kind is p.VAR_KEYWORD:
                good |= self._options(label)
                positional = False
                continue
            try:
                good[p.name] = self.good(owner or label, p.name)
            except KeyError:
                good[p.name] = None if p.default is p.empty else p.default
        yield Call(label, function, good, positional)

    def _options(self, label: str) -> dict[str, Any]:
        if any(f".{name}" in label for name in ("box", "sphere", "capsule", "cylinder", "mesh", "compound")):
            return dict.fromkeys(BodyOptions.__annotations__, ...) | {"pos": (0, 0, 5), "fixed": False, "mass": 1.0}
        if ".terrain" in label:
            return dict.fromkeys(TerrainOptions.__annotations__, ...) | {"pos": (0, 0, -9)}
        if label == "grid":
            return {"a": [1, 2], "b": "xy"}
        if any(f".{name}" in label for name in ("spherical", "fixed")):
            return dict.fromkeys(HoldOptions.__annotations__, ...)
        if "Sim" in label:
            return dict.fromkeys(JointOptions.__annotations__, ...)
        return {}

    def _forms(self) -> Iterator[Call]:
        """Calls that have several forms."""
        ends = ("l_geo_slots", "l_instance_ids", "r_geo_slots", "r_instance_ids", "strength_ratios")
        for kind in constitution_classes().values():
            name = kind.__name__
            if issubclass(kind, constitution.EdgeJoint):
                yield self._form(f"{name}.create_geometry", kind, ("position0s", "position1s", *ends))
            elif kind is constitution.AffineBodyFixedJoint:
                yield self._form(f"{name}.create_geometry", kind, ends)
            elif issubclass(kind, constitution.VertexJoint):
                yield self._form(f"{name}.create_geometry", kind, ("positions", *ends))
            if issubclass(kind, constitution.Joint):
                yield self._form(f"{name}.apply_to", kind, ("sc", *ends))
        for when, sim in (("new", self.building), ("run", self.running)):
            yield Call(f"{when} Sim.mechanism", sim.mechanism, {"joint": sim.joints[0]}, True)
            yield Call(f"{when} Sim.remove", sim.remove, {"body": sim["part 8"]}, True)
        body = constitution.AffineBodyConstitution
        yield self._form("AffineBodyConstitution.apply_to", body, ("sc", "kappa", "mass_density"))
        yield Call("AffineBodyConstitution.apply_to by mass", body().apply_to,
                   {"sc": self.mesh, "kappa": 1e8, "mass": np.eye(12), "volume": 1.0}, True)  # fmt: skip
        rigid = {"kappa": 1e8, "mass": 1.0, "mass_center": (0, 0, 0), "inertia": np.eye(3), "volume": 1.0}
        yield Call("AffineBodyConstitution.create_proxy", body().create_proxy, rigid, True)
        atlas = geometry.GeometryAtlas()
        yield Call("GeometryAtlas.create", atlas.create, {"geometry": "x", "collection": self.mesh.meta}, True)

    def _form(self, label: str, kind: type, names: tuple[str, ...]) -> Call:
        member = label.rsplit(".", 1)[1]
        return Call(label, getattr(kind(), member), {name: self.good(kind.__name__, name) for name in names}, True)
