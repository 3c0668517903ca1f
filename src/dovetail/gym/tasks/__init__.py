"""Tasks in which contact and loops decide, and a cartpole; one file each."""
