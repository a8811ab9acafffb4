"""A trainer that trains nothing. It writes the facts of the real one, and joins and leaves as that one does.

The campaign puts this package in the place of `trainer` in a copy of the checkout. Ansible packs it, and supervisor
runs it, as they do with the real one. What it did is in the log that `stub.log` of training.yml names, one JSON a line.
"""
