"""An EC2 on this machine: the AWS API on loopback, and a real host for each instance that runs.

Two processes make it. The API (`localcloud.api`) is moto's server with what moto lacks put in front of it. The hosts
(`localcloud.hosts`) are SSH servers with a home directory and a metadata service. `localcloud.link` joins the two.
"""
