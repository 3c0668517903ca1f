"""The linear system of a gradient has a block for every pair in touch, or says so."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.errors import GradientError
from dovetail.gradient.barriers import require_blocks
from dovetail.solver.blocks import Blocks


def test_a_pair_in_touch_without_a_block_is_refused():
    is_fixed = np.array([0, 0, 0, 1])
    blocks = Blocks(is_fixed, np.array([[0, 1]]))
    for fine in ([[0, 1]], [[1, 0]], [[2, -1]], [[2, 2]], [[1, 3]]):  # a half-plane, itself, a fixed body
        require_blocks(blocks, np.array(fine))
    with pytest.raises(GradientError, match="no block"):
        require_blocks(blocks, np.array([[0, 1], [1, 2]]))
