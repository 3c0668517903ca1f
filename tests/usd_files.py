"""Small USD stages, written as text."""

from __future__ import annotations

__all__ = ["BODY", "CENTI", "FLOAT", "LOCKED", "SOLID", "at", "body", "cube", "d6", "joint", "limits", "stage", "told"]

BODY = 'prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]'
SOLID = 'prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"]'

FLOAT = 2e-6  # numbers of the format are single floats, and angles of 100° have some 1e-7 of that


def at(x, y, z, more=""):
    order = ", ".join(f'"xformOp:{name}"' for name in ("translate", *(["orient"] if "orient" in more else [])))
    return f"double3 xformOp:translate = ({x}, {y}, {z})\n{more}\nuniform token[] xformOpOrder = [{order}]\n"


def body(name, place=(0, 0, 0), content="", mass="float physics:mass = 2", more=""):
    return f'def Xform "{name}" ({BODY}) {{\n{at(*place, more)}{mass}\n{content}\n}}\n'


def cube(name="c", size=1.0, place=(0, 0, 0), more=""):
    return f'def Cube "{name}" ({SOLID}) {{\n{at(*place)}double size = {size}\n{more}\n}}\n'


def joint(kind, name, ends, content="", schemas=""):
    rels = "\n".join(f"rel physics:body{k} = </r/{end}>" for k, end in enumerate(ends) if end)
    wanted = f"(prepend apiSchemas = [{schemas}])" if schemas else ""
    return f'def Physics{kind} "{name}" {wanted} {{\n{rels}\n{content}\n}}\n'


def stage(tmp_path, content, header='metersPerUnit = 1\nupAxis = "Z"', name="r.usda"):
    file = tmp_path / name
    file.write_text(f'#usda 1.0\n(\ndefaultPrim = "r"\n{header}\n)\ndef Xform "r" {{\n{content}\n}}\n')
    return file


def told(robot, words):
    return [f"{f.text}; {f.advice}" for f in robot.findings if words in f.text]


CENTI = 'metersPerUnit = 0.01\nkilogramsPerUnit = 0.5\nupAxis = "Y"'


def limits(**bounds):
    return "\n".join(
        f"float limit:{dof}:physics:low = {lo}\nfloat limit:{dof}:physics:high = {hi}"
        for dof, (lo, hi) in bounds.items()
    )


LOCKED = dict.fromkeys(("transX", "transY", "transZ", "rotX", "rotY", "rotZ"), (1, -1))


def d6(name="j", ends=("", "b"), more="", schemas="", **free):
    bounds = {dof: span for dof, span in {**LOCKED, **free}.items() if span is not None}
    listed = ", ".join([f'"PhysicsLimitAPI:{dof}"' for dof in bounds] + ([schemas] if schemas else []))
    return joint("Joint", name, ends, limits(**bounds) + "\n" + more, listed)
