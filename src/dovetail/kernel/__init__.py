"""What kernels are made of: compiled functions, their files on disk, records, threads. It knows nothing of physics."""
