"""Contact: surfaces, possible and active contacts, barrier, friction, collision-free steps.

surface → near → detect → narrow (closest points) → normal, friction → rows
                 motion, ccd (how far a step may go)
"""
