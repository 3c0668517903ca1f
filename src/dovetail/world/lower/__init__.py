"""From the attributes of a scene to the arrays of the solver."""
