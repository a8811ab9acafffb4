"""The kind of host `loopback`: an SSH server in Python, a home directory and a metadata service for each instance.

Each host listens on its instance's private address, which lies in 127.0.0.0/8. So it needs no root rights and no
container. All hosts share this machine's file system, users and network; homes and process markers keep them apart.
"""
