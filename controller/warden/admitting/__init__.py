"""Whom a node lets in: the SSH keys of who controls the cluster, and workers while nobody controls it."""
