"""The cluster's bucket: where it is, and objects of which only one writer writes the next version."""
