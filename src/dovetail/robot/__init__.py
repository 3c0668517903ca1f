"""Robots from files: a neutral description, readers that fill it, and what puts it into a `Sim`."""
