"""Joints as the solver sees them: stencils, scalar functions of F = W Q, coordinates with laws, read-back."""
