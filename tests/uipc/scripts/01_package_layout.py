"""Section 1: modules and what they export."""

import importlib

import uipc

for name in ("core", "geometry", "constitution", "builtin", "unit", "backend", "diff_sim", "usd"):
    module = getattr(uipc, name)
    assert importlib.import_module(f"uipc.{name}") is module, name
for name in ("gui", "dev", "stats", "assets", "profile", "cli", "adapter.torch", "adapter.warp"):
    importlib.import_module(f"uipc.{name}")

import uipc.builtin as builtin
import uipc.constitution
from uipc import Engine, Scene, Timer, Transform, World, constitution, core, geometry, unit, view
from uipc.backend import AnimatorVisitor, Buffer, BufferView, DiffSimVisitor, SceneVisitor, WorldVisitor
from uipc.dev import ConstitutionUIDInfo, ImplicitGeometryUIDInfo
from uipc.dev.mesh_doctor import MeshDoctor
from uipc.gui import SceneGUI, SimplicialComplex
from uipc.stats import SimulationStats
from uipc.unit import GPa, MPa, N, Pa, km, kPa, m, mm, s

assert (s, m, mm, km, N, Pa, kPa, MPa, GPa) == (1.0, 1.0, 1e-3, 1e3, 1.0, 1.0, 1e3, 1e6, 1e9)
assert uipc.builtin.is_fixed == "is_fixed" and builtin.adaptive == -1.0
assert uipc.core.Object is core.Object and uipc.geometry.ground is geometry.ground
assert issubclass(uipc.Exception, Exception)
IN_CORE = """
    Engine World Scene SceneIO SceneSnapshot SceneSnapshotCommit SceneFactory Object Animator Animation ContactTabular
    ContactElement ContactModel ContactModelCollection SubsceneTabular SubsceneElement SubsceneModel ConstitutionTabular
    AffineBodyStateAccessorFeature ContactSystemFeature DistanceDiagnoserFeature FiniteElementStateAccessorFeature
    SanityChecker SanityCheckResult SanityCheckMessage PyIEngine EngineStatus EngineStatusCollection
"""
IN_UIPC = """
    Float IndexT SizeT I32 I64 U32 U64 Vector2 Vector3 Vector4 Vector6 Vector9 Vector12 Matrix2x2 Matrix3x3 Matrix4x4
    Matrix6x6 Matrix9x9 Matrix12x12 Transform Quaternion AngleAxis view Logger Timer ResidentThread Exception init
    config default_config build_info Engine World Scene SceneIO Animation
"""
for name in IN_UIPC.split():
    assert hasattr(uipc, name), name
for name in IN_CORE.split():
    assert hasattr(core, name), name
for name in ("StableNeoHookean", "NeoHookeanShell", "ElasticModuli", "Particle", "SoftPositionConstraint"):
    try:
        getattr(constitution, name)()
    except uipc.Exception as error:
        assert "affine bodies only" in str(error), error
    else:
        raise AssertionError(name)

info = uipc.build_info()
assert {"version", "python_abi", "build_type"} <= info.keys() and any(key.startswith("cuda_") for key in info)
uipc.init({"module_dir": "."})
assert isinstance(uipc.config(), dict) and isinstance(uipc.default_config(), dict)

uids = ConstitutionUIDInfo()
assert uids.get_uid_info(18)["name"] == "AffineBodyRevoluteJoint" and uids.get_uid_info(5000) is None
assert not uids.check_uid_available(1) and uids.check_uid_available(5000)
assert uids.first_available_uid(18) == 22 and "| 18 |" in repr(uids)
assert ImplicitGeometryUIDInfo().get_uid_info(1)["name"] == "HalfPlane"

from shapes import CORNERS, QUADS, box

assert MeshDoctor(".").check_mesh(constitution.AffineBodyConstitution(), box())
assert not MeshDoctor(".").check_mesh(constitution.AffineBodyConstitution(), geometry.trimesh(CORNERS, QUADS[:-1]))

scene = Scene()
scene.objects().create("box").geometries().create(box())
assert [slot.id() for slot in SceneVisitor(scene).geometries()] == [0]

# wrong types are TypeErrors, sizes without an attribute type RuntimeErrors, and both are uipc.Exception
import numpy as np

for value, kind in (([1, 2], TypeError), (np.zeros(5), RuntimeError)):
    try:
        box().vertices().create("x", value)
    except kind as error:
        assert isinstance(error, uipc.Exception)
    else:
        raise AssertionError(value)
print("section 1 done")
