"""Arrays and kernels: energies, linear algebra, Newton's method, one time step. It knows nothing of scenes."""
