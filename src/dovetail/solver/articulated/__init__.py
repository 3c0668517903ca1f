"""Newton directions of trees of bodies in linear time: one sweep from the leaves to the roots, and one back."""
