"""The flagship: a dense reference, projected onto few kernels or features."""
