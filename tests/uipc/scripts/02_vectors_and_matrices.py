"""Section 2: factories of scalars, vectors and matrices."""

import numpy as np
import uipc
from uipc import (
    I32,
    I64,
    U32,
    U64,
    Float,
    IndexT,
    Matrix2x2,
    Matrix3x3,
    Matrix4x4,
    Matrix6x6,
    Matrix9x9,
    Matrix12x12,
    SizeT,
    Vector2,
    Vector3,
    Vector4,
    Vector6,
    Vector9,
    Vector12,
)

assert isinstance(Float.Zero(), float) and Float.One() == 1.0 and Float.Value(2.5) == 2.5 and Float.size_bytes() == 8
for integer, size in ((IndexT, 4), (SizeT, 8), (I32, 4), (I64, 8), (U32, 4), (U64, 8)):
    assert isinstance(integer.Zero(), int) and integer.One() == 1 and integer.Value(7) == 7
    assert integer.size_bytes() == size

for vector, n in ((Vector2, 2), (Vector3, 3), (Vector4, 4), (Vector6, 6), (Vector9, 9), (Vector12, 12)):
    assert vector.shape() == (n, 1)
    made = [vector.Zero(), vector.Ones(), vector.Identity(), vector.Random(), vector.Unit(1), vector.UnitX()]
    made += [vector.UnitY(), vector.Values(np.arange(n)), vector.Values(np.arange(n).reshape(n, 1))]
    made += [vector.Values(list(range(n))), vector.LinSpaced(0.0, 1.0), vector.LinSpaced(0.0, 1.0, n)]
    for one in made:
        assert one.shape == (n, 1) and one.dtype == np.float64 and one.flags.writeable
    assert hasattr(vector, "UnitZ") == (n >= 3) and hasattr(vector, "UnitW") == (n >= 4)
    np.testing.assert_array_equal(vector.Identity(), vector.UnitX())
np.testing.assert_allclose(Vector3.LinSpaced(0.0, 1.0, 0.5).ravel(), [0.0, 0.5, 1.0])
try:
    Vector3.Values([1, 2])
except uipc.Exception:
    pass
else:
    raise AssertionError("two numbers made a Vector3")

for matrix, n in ((Matrix2x2, 2), (Matrix3x3, 3), (Matrix4x4, 4), (Matrix6x6, 6), (Matrix9x9, 9), (Matrix12x12, 12)):
    assert matrix.shape() == (n, n)
    for one in (matrix.Identity(), matrix.Zero(), matrix.Ones(), matrix.Random(), matrix.Values(np.ones((n, n)))):
        assert one.shape == (n, n) and one.dtype == np.float64

# idioms
assert (Vector3.UnitY() * 2)[1, 0] == 2.0
p = Vector3.Zero()
p[1] += 0.5
assert p[1, 0] == 0.5
trans = Matrix4x4.Identity()
trans[0:3, 3] = np.array([1.0, 2.0, 3.0])
positions = np.zeros((5, 3, 1))
positions += Vector3.UnitZ()
assert positions[:, 2].sum() == 5.0
print("section 2 done")
