"""Scalar functions of the state that are minimised: one file each, energy and derivatives side by side."""
