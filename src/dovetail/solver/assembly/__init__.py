"""Loops that gather the state, call the energies and add their derivatives to the block system."""
