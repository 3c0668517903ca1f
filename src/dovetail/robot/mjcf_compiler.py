"""MuJoCo's compiler, in the process of `limited.py`, and the compiled model as it comes from there.

What a model has is handed over as numbers and names, nothing of which is executed.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.errors import SceneError
from dovetail.robot.limited import read_limited

__all__ = ["Compiled", "answer", "prepared"]

_PARTS = ("body", "joint", "geom", "site", "mesh", "key", "equality", "actuator", "tendon", "flex")
_REST = ("sensor", "cam", "light", "tex", "skin", "plugin", "numeric", "text", "tuple")
_COUNTS = {"joint": "njnt", "equality": "neq", "actuator": "nu"}  # others are n and their name
_LINES = ("body", "joint", "geom")
"""Parts whose place in the file is kept."""
_ARRAYS = (
    *("body_pos", "body_quat", "body_mass", "body_ipos", "body_iquat", "body_inertia", "body_parentid", "body_jntadr"),
    *("body_jntnum", "body_geomadr", "body_geomnum", "body_weldid", "body_mocapid", "body_gravcomp"),
    *("jnt_type", "jnt_qposadr", "jnt_dofadr", "jnt_pos", "jnt_axis", "jnt_range", "jnt_limited", "jnt_stiffness"),
    *("jnt_stiffnesspoly", "jnt_actfrclimited", "jnt_actfrcrange", "dof_damping", "dof_dampingpoly"),
    *("dof_frictionloss", "dof_armature", "qpos0", "qpos_spring", "key_qpos"),
    *("geom_type", "geom_bodyid", "geom_contype", "geom_conaffinity", "geom_group", "geom_rgba", "geom_matid"),
    *("geom_dataid", "geom_pos", "geom_quat", "geom_size", "mat_rgba", "site_bodyid", "site_pos", "site_quat"),
    *("mesh_vert", "mesh_vertadr", "mesh_vertnum", "mesh_face", "mesh_faceadr", "mesh_facenum"),
    *("pair_geom1", "pair_geom2", "exclude_signature", "eq_type", "eq_objtype", "eq_obj1id", "eq_obj2id", "eq_data"),
    *("eq_active0", "tendon_adr", "tendon_num", "tendon_limited", "tendon_stiffness", "tendon_damping"),
    *("tendon_frictionloss", "wrap_type", "wrap_objid", "wrap_prm"),
    *("actuator_trntype", "actuator_trnid", "actuator_gaintype", "actuator_biastype", "actuator_dyntype"),
    *("actuator_gainprm", "actuator_biasprm", "actuator_gear", "actuator_forcerange", "actuator_forcelimited"),
    *("actuator_ctrlrange", "actuator_ctrllimited", "actuator_armature", "actuator_damping"),
)
"""What is read of a model; versions of MuJoCo lack some of it."""


class Compiled:
    """Arrays of an MjModel by their names, `n` of each kind of part, their `names` ('' where they have none), the
    `lines` of the file that bodies, joints and geoms are in, and what MuJoCo `said`.
    """

    def __init__(self, file: Path) -> None:
        told, blobs = read_limited("mjcf", file)
        self.name, self.said = str(told["name"]), [str(each) for each in told["said"]]
        self.names: dict[str, list[str]] = told["names"]
        self.lines: dict[str, list[str]] = told["lines"]
        self.n = {kind: len(names) for kind, names in self.names.items()}
        self.options: dict[str, Any] = told["options"]
        self._arrays: dict[str, Any] = {}
        for (name, kind, shape), blob in zip(told["arrays"], blobs, strict=True):
            self._arrays[name] = np.frombuffer(blob, kind).reshape(shape)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_arrays"][name]
        except KeyError:
            raise AttributeError(name) from None


# --- the other process --------------------------------------------------------------------------------------


def prepared() -> None:
    """Load the compiler."""
    import mujoco  # noqa: F401


def answer(request: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Compile a file."""
    import mujoco

    file, said = request["file"], list[str]()
    mujoco.set_mju_user_warning(said.append)  # or else they are written to a file in the present folder
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            spec = mujoco.MjSpec.from_file(file)
            m: Any = spec.compile()
    except (ValueError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        raise SceneError(f"reading '{request['shown']}': MuJoCo refuses it: {' '.join(str(error).split())}") from None
    arrays = {name: np.ascontiguousarray(getattr(m, name)) for name in _ARRAYS if hasattr(m, name)}
    parts = {"body": spec.bodies, "joint": spec.joints, "geom": spec.geoms}
    head = {
        "name": spec.modelname or "",
        "said": [*(str(each.message) for each in told), *said],
        "names": {kind: _names(m, kind) for kind in (*_PARTS, *_REST)},
        "lines": {kind: [part.info or "" for part in parts[kind]] for kind in _LINES},
        "options": {
            **{name: float(getattr(m.opt, name)) for name in ("timestep", "density", "viscosity")},
            "gravity": [float(x) for x in m.opt.gravity],
        },
        "arrays": [(name, array.dtype.str, array.shape) for name, array in arrays.items()],
    }
    return head, [array.tobytes() for array in arrays.values()]


def _names(m: Any, kind: str) -> list[str]:
    count = getattr(m, "nactuator", m.nu) if kind == "actuator" else getattr(m, _COUNTS.get(kind, f"n{kind}"))
    called = getattr(m, kind, None)  # texts have no names there
    return [(called(k).name if called else "") or "" for k in range(count)]
