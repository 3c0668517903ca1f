"""Contact: surfaces, possible and active contacts, barrier, friction, collision-free steps.

surface → near, planes → detect → watch → narrow (closest points) → normal, friction → rows
                 motion, ccd (how far a step may go)
"""
