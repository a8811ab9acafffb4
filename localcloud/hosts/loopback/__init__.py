"""Hosts on addresses of loopback: an SSH server in Python and a home directory for each."""
