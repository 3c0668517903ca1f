"""A `polyscope` without a window: what scripts call does nothing, and what they ask for has an answer."""
