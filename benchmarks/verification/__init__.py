"""Checks of dovetail against other programs, published solutions and closed forms, with their bars; see verify.py."""
