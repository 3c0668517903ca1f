"""Section 3: transforms and rotations."""

import numpy as np
from uipc import AngleAxis, Quaternion, Transform, Vector3

quarter = AngleAxis(np.pi / 2, Vector3.UnitZ())
t = Transform.Identity()
assert t.translate(Vector3.UnitX()) is t and t.rotate(quarter) is t and t.scale(2.0) is t
np.testing.assert_allclose(t * Vector3.UnitX(), [[1.0], [2.0], [0.0]], atol=1e-15)
np.testing.assert_allclose(t.translation(), [[1.0], [0.0], [0.0]])
fresh = t.matrix()
fresh[:] = 0.0
assert t.matrix()[3, 3] == 1.0

for move in ([1, 0, 0], np.array([1.0, 0, 0]), Vector3.UnitX()):
    Transform.Identity().translate(move)
for factor in (2.0, np.array(2.0), [3, 0.1, 3], Vector3.Ones()):
    Transform.Identity().scale(factor)
Transform.Identity().rotate(Quaternion(quarter)).rotate(quarter)

world = Transform.Identity()
world.rotate(quarter)
assert world.pretranslate([1, 0, 0]) is world and world.prerotate(quarter) is world and world.prescale(2.0) is world
np.testing.assert_allclose(world * Vector3.Zero(), [[0.0], [2.0], [0.0]], atol=1e-15)
np.testing.assert_allclose((world * world.inverse()).matrix(), np.eye(4), atol=1e-15)
assert isinstance(world * t, Transform)
flat = Transform(np.eye(4))
flat.scale(0.0)  # a rate of change, no motion
assert not flat.matrix()[:3, :3].any()

points = np.random.default_rng(0).normal(size=(4, 3))
expected = points * 2.0
doubled = Transform.Identity().scale(2.0)
assert doubled.apply_to(points) is points
np.testing.assert_allclose(points, expected)
column = np.ones((4, 3, 1))
assert doubled.apply_to(column) is column and column.max() == 2.0
single = np.ones((4, 3), np.float32)
assert doubled.apply_to(single).max() == 2.0 and single.max() == 1.0
np.testing.assert_allclose(doubled.apply_to(np.ones(3)), np.full((3, 1), 2.0))
try:
    doubled * np.ones((4, 3))
except Exception:
    pass
else:
    raise AssertionError("T * (n, 3) is an error")

q = quarter * AngleAxis(np.pi / 2, Vector3.UnitX())
assert isinstance(q, Quaternion) and isinstance(quarter * q, Quaternion) and isinstance(q * quarter, Quaternion)
assert isinstance(q * q.conjugate(), Quaternion) and abs(q.norm() - 1.0) < 1e-15
back = AngleAxis(Quaternion([np.cos(0.2), 0, 0, np.sin(0.2)]))
assert abs(back.angle() - 0.4) < 1e-15 and back.axis().shape == (3, 1)
q.inverse()
q.normalized()
AngleAxis.Identity()
Quaternion.Identity()
Quaternion(wxyz=[1, 0, 0, 0])
AngleAxis(angle=0.3, axis=[0, 1, 0])
Transform(matrix=np.eye(4))
print("section 3 done")
