"""Section 4: view() and attribute slots."""

import numpy as np
from shapes import box
from uipc import Matrix4x4, Matrix12x12, Vector2, Vector3, Vector12, view
from uipc import geometry as g

sc = box()
cases = {
    "f": (1.5, g.AttributeSlotFloat, "F64", (8,), np.float64),
    "i": (1, g.AttributeSlotI32, "I32", (8,), np.int32),
    "l": (2**40, g.AttributeSlotI64, "I64", (8,), np.int64),
    "u": (2**63 + 1, g.AttributeSlotU64, "U64", (8,), np.uint64),
    "v2": (Vector2.Ones(), g.AttributeSlotVector2, "Vector2", (8, 2, 1), np.float64),
    "v3": (Vector3.Ones(), g.AttributeSlotVector3, "Vector3", (8, 3, 1), np.float64),
    "v12": (Vector12.Ones(), g.AttributeSlotVector12, "Vector12", (8, 12, 1), np.float64),
    "v3i": (np.zeros(3, np.int32), g.AttributeSlotVector3i, "Vector3i", (8, 3, 1), np.int32),
    "m4": (Matrix4x4.Identity(), g.AttributeSlotMatrix4x4, "Matrix4x4", (8, 4, 4), np.float64),
    "m12": (Matrix12x12.Identity(), g.AttributeSlotMatrix12x12, "Matrix12x12", (8, 12, 12), np.float64),
}
for name, (value, kind, type_name, shape, dtype) in cases.items():
    slot = sc.vertices().create(name, value)
    assert isinstance(slot, kind) and isinstance(slot, g.IAttributeSlot) and slot.type_name() == type_name, name
    assert slot.name() == name and slot.size() == 8 and slot.allow_destroy() and not slot.is_shared()
    assert view(slot).shape == shape and view(slot).dtype == dtype and slot.view().shape == shape
assert view(sc.vertices().find("m4")).strides == (128, 8, 32)

text = sc.vertices().create("s", "none")
assert isinstance(text, g.AttributeSlotString) and text.type_name() == "string"
view(text)[0] = "first"
assert len(text.view()) == 8 and text.view()[0] == "first" and list(text.view())[1] == "none"
assert isinstance(view(text), g.StringSpan) and isinstance(text.view(), g.CStringSpan)

f = sc.vertices().find("f")
view(f)[:] = 3.0
assert (f.view() == 3.0).all()
view(sc.vertices().find("v3"))[2] = Vector3.UnitZ() * 2
view(sc.positions())[:] += Vector3.UnitY()
assert sc.positions().view()[:, 1].min() == 0.9
try:
    f.view()[0] = 5.0  # works or raises ValueError
except ValueError:
    pass

# copy on write
other = sc.copy()
assert other.positions().is_shared()
view(other.positions())[:] = 0.0
assert sc.positions().view().any() and not sc.positions().is_shared()

# a destroyed attribute's slot stays usable
sc.vertices().destroy("f")
assert sc.vertices().find("f") is None and f.view()[0] == 3.0
assert sc.meta().find("constraint_uids") is None
print("section 4 done")
