"""The short form: a motor turns a crank, a rod pushes a piston against a load; its place has a closed form.

With crank r, rod l and crank angle θ, measured from the far dead point:

    x = r cos θ + √(l² − r² sin² θ)

The joints are exact, so x is met to what the bodies stretch. The load on the piston, a spring that pulls it to its
place at the start, is set by a function that runs before each step; the motor needs a torque of F dx/dθ for it.
"""

from __future__ import annotations

import math

from dovetail import Sim

R, L = 0.15, 0.5  # [m]
SPEED = 2.0  # [rad/s]
LOAD = 500.0  # [N/m]


def build():
    """The simulation, the motor and the guide of the piston."""
    sim = Sim(dt=0.005, gravity=(0, 0, 0), contact=False, kappa=1e9)
    crank = sim.box((R, 0.04, 0.04), pos=(R / 2, 0, 0), color="grey", name="crank")
    rod = sim.box((L, 0.03, 0.03), pos=(R + L / 2, -0.05, 0), color="orange", name="rod")
    piston = sim.cylinder(0.06, 0.12, pos=(R + L, 0, 0), rot=(1, 0, 1, 0), color="blue", name="piston")
    motor = sim.revolute(None, crank, pos=(0, 0, 0), axis=(0, -1, 0), motor=SPEED, name="motor")
    sim.revolute(crank, rod, pos=(R, -0.05, 0), axis=(0, -1, 0), name="crank pin")
    sim.spherical(rod, piston, pos=(R + L, -0.05, 0), name="piston pin")  # a second hinge would hold the plane twice
    guide = sim.prismatic(None, piston, axis=(1, 0, 0), name="guide")

    @sim.before_step
    def press():
        guide.force = -LOAD * guide.distance

    return sim, motor, guide


def check():
    sim, motor, guide = build()
    sim.step(20)  # the motor gets up to speed
    off = gap = 0.0
    torques = []
    for _ in sim.run(600):
        theta = motor.angle
        root = math.sqrt(L**2 - (R * math.sin(theta)) ** 2)
        x = R * math.cos(theta) + root - (R + L)
        slope = -R * math.sin(theta) - R**2 * math.sin(theta) * math.cos(theta) / root
        off = max(off, abs(guide.distance - x))
        gap = max(gap, *(joint.gap for joint in sim.joints))
        torques.append((motor.drive.effort, -guide.force * slope))
    scale = max(abs(torque) for _, torque in torques)
    error = max(abs(effort - torque) for effort, torque in torques) / scale
    print(f"{motor.angle / math.tau:.2f} turns at {motor.velocity:.3f} rad/s; piston off its formula by {off:.1e} m")
    print(f"largest joint gap {gap:.1e} m; torque up to {scale:.2f} N·m, off by {100 * error:.1f} % of that")
    assert abs(motor.velocity / SPEED - 1) < 0.02  # the motor yields to 14 N·m by τ/c, c = 100 I/dt of the crank
    assert gap < 1e-10  # exact joints
    assert off < 1e-4  # 150 N on pins beside the axis bend bodies of κ = 1e9 Pa by 12 µm
    assert error < 0.05  # the machine's own inertia, which the formula leaves out: m r ω² against LOAD r


if __name__ == "__main__":
    check()
