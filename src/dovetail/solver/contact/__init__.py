"""Contact: surfaces, possible and active contacts, barrier, friction, collision-free steps.

surface → detect → narrow (closest points) → barrier, friction → assemble
                 → ccd (how far a step may go)
"""
