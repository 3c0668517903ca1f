"""What contact says of a step is the same in one call and in several."""

from __future__ import annotations

import numpy as np
import pytest
from contact_scenes import boxes_in_touch

from dovetail.kernel.threads import using
from dovetail.solver.contact.bound import is_small
from dovetail.solver.phases import RATE, STEP


@pytest.mark.parametrize("length", [1e-3, 0.03, 0.2])
def test_islands_sizes_and_free_shares_are_those_of_the_general_way(length):
    """Of steps from where a look was enough to where another is needed."""
    y = length * np.random.default_rng(4).uniform(-1, 1, (6, 12))
    told = []
    for grain in (None, 1e-9):
        probe = boxes_in_touch(6)
        probe.look(probe.Q)
        probe.derivatives(probe.Q, look=False)
        probe.iteration.at = probe.at
        islands, watch = probe.model.islands, probe.contact.watch
        with using(grain=grain):
            assert is_small(probe.contact) == (grain is None)
            revived = probe.iteration.bound(y, foresees=True)
        m, friction = islands.count, probe.contact.friction
        told.append((islands.of, islands.guarded[:m], islands.size[:m], islands.alpha[:m], watch.used, revived))
        told[-1] += (islands.changing[:m],)
        told[-1] += (watch.motion, probe.iteration.numbers[[STEP, RATE]], friction.aim[: friction.count])
    assert told[0][1].any()
    for one, other in zip(*told, strict=True):
        # the compiler may add in another order
        np.testing.assert_allclose(np.asarray(one, float), np.asarray(other, float), rtol=1e-12)
