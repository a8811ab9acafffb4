"""The Transformer, its training loss and the kernels that compute it."""
