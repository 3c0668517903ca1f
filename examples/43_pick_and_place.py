"""The short form: a parallel gripper on a gantry grips a box, sets it down elsewhere, and fetches a ball.

Both fingers slide on the palm; one motor of limited force closes them, and a coupling makes the other one mirror it, so
that each presses with half of that force. Friction carries the load. What sticks does not creep: what is held stays
where it is between the fingers, to a few micrometres while the gantry brakes, and to round-off while it waits.
"""

from __future__ import annotations

import numpy as np

from dovetail import Sim

BOX, RADIUS = 0.06, 0.03  # [m]
GRIP = 20.0  # [N], of both fingers
OPEN, CLOSED = 0.0, 0.05  # [m] that a finger has moved inward; the box stops it before

# time [s], place of the palm along x and z [m], fingers
PATH = np.array([
    (0.0, -0.20, 0.25, OPEN), (0.4, -0.20, 0.15, OPEN), (0.6, -0.20, 0.15, CLOSED), (1.0, -0.20, 0.25, CLOSED),
    (1.6, 0.15, 0.25, CLOSED), (2.0, 0.15, 0.15, CLOSED), (2.1, 0.15, 0.15, OPEN), (2.5, 0.15, 0.25, OPEN),
    (2.8, 0.00, 0.25, OPEN), (3.2, 0.00, 0.15, OPEN), (3.4, 0.00, 0.15, CLOSED), (3.8, 0.00, 0.25, CLOSED),
    (4.4, 0.15, 0.25, CLOSED), (6.4, 0.15, 0.25, CLOSED),
])  # fmt: skip


def along(t):
    """Where palm and fingers should be: smoothly from one place to the next, and the fingers at once."""
    k = int(np.clip(np.searchsorted(PATH[:, 0], t, side="right") - 1, 0, len(PATH) - 2))
    (t0, *start), (t1, *end) = PATH[k], PATH[k + 1]
    s = np.clip((t - t0) / (t1 - t0), 0.0, 1.0)
    x, z, _ = start + (np.array(end) - start) * s * s * (3 - 2 * s)
    return x, z, end[2]


def build():
    """The simulation, the box, the ball, the palm and the drive of the fingers."""
    sim = Sim()
    sim.ground()
    box = sim.box(BOX, pos=(-0.20, 0, BOX / 2 + 0.001), color="brown", name="box")
    ball = sim.sphere(RADIUS, pos=(0, 0, RADIUS + 0.001), color="blue", name="ball")
    rail = sim.box((0.8, 0.06, 0.06), pos=(0, 0, 0.5), fixed=True, color="grey", name="rail")
    x, z, _ = along(0.0)
    carriage = sim.box((0.10, 0.10, 0.04), pos=(x, 0, 0.44), color="grey", name="carriage")
    palm = sim.box((0.08, 0.24, 0.03), pos=(x, 0, z), color="grey", name="palm")
    travel = sim.prismatic(rail, carriage, axis=(1, 0, 0), drive=0.0, name="travel")
    lift = sim.prismatic(carriage, palm, axis=(0, 0, 1), drive=0.0, name="lift")
    slides = []
    for side in (-1, 1):
        finger = sim.box((0.05, 0.02, 0.12), pos=(x, 0.08 * side, z - 0.08), color="orange", name=f"finger {side}")
        slides.append(sim.prismatic(palm, finger, axis=(0, -side, 0), name=f"slide {side}"))
    sim.couple(slides[1], slides[0], ratio=1.0)
    grip = slides[0]
    grip.drive.target = OPEN
    grip.drive.max_effort = GRIP

    @sim.before_step
    def move():
        palm_x, palm_z, closed = along(sim.time)
        travel.drive.target, lift.drive.target, grip.drive.target = palm_x - x, palm_z - z, closed

    return sim, box, ball, palm, grip


def check():
    sim, box, ball, palm, _ = build()
    held = {box: [], ball: []}  # where it is in the palm [m], from when the fingers have closed
    for _ in sim.run(round(PATH[-1, 0] / sim.dt)):
        if 0.65 < sim.time < 1.95:
            held[box].append(palm.local(box.pos))
        elif sim.time > 3.45:
            held[ball].append(palm.local(ball.pos))
    moved = {body: float(np.linalg.norm(np.ptp(places, axis=0))) for body, places in held.items()}
    waited = held[ball][-round(1.5 / sim.dt) :]
    crept = float(np.linalg.norm(waited[-1] - waited[0]))
    placed = box.pos[0] - 0.15
    pressed = [ball.force_from(sim[f"finger {side}"])[1] for side in (-1, 1)]
    carried = ball.contact_force[2]
    print(f"between the fingers the box moved by {1e6 * moved[box]:.2f} µm, the ball by {1e6 * moved[ball]:.2f} µm")
    print(f"in the last 1.5 s the ball crept by {1e6 * crept:.1e} µm, expected 0")
    print(f"the box was set down {1e6 * placed:.2f} µm from its place, expected 0")
    print(f"the fingers press with {pressed[0]:.3f} and {pressed[1]:.3f} N, expected ±{GRIP / 2:g} N")
    print(f"friction carries {carried:.4f} N, the ball weighs {9.81 * ball.mass:.4f} N")
    assert max(moved.values()) < 1e-5  # eps_velocity · dt: what a contact that sticks may give way
    assert crept < 1e-8
    assert abs(placed) < 1e-5
    np.testing.assert_allclose(pressed, [GRIP / 2, -GRIP / 2], rtol=1e-3)
    assert abs(carried / (9.81 * ball.mass) - 1) < 1e-3


if __name__ == "__main__":
    check()
