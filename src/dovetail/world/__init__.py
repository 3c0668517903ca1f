"""Engine and World: a scene lowered to solver arrays, advanced and read back."""
