"""Block-sparse linear algebra on the body graph: 12×12 blocks, ordering, Cholesky."""
