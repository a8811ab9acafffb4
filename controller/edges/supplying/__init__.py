"""The bucket that supplies the nodes, and the program that builds their packages."""
