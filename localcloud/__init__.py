"""An EC2 on this machine: the AWS API on loopback, and a real host for each instance that the API says is running.

The API is moto's server with what moto lacks put in front of it. A host is an SSH server, a metadata service and a home
directory on the instance's own private address, which lies in 127.0.0.0/8, so nothing here needs root or a container.
"""
