"""Handing a run to a controller on the cluster's head, so that the machine that started it may go.

The head gets a *bundle* through the cluster's bucket: the program, the environment's files, and the run with its
journal. There it is unpacked under its digest, and the same program goes on with the run as a service of supervisor.
"""
