"""The place of a second kind of host: a machine with a root file system and a network of its own. It has no code yet.

Such a kind implements `localcloud.hosts.host.Host`, is listed in `localcloud.hosts.kinds`, and serves the metadata of
`localcloud.hosts.metadata`, as the kind `loopback` does.
"""
