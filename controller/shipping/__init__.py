"""How logs get to CloudWatch Logs. This package runs on every node, and in the controller for the controller's own log.

It imports nothing else of this repository, and of others only boto3, so it can be packed onto nodes by itself. The
files on the disk are the buffer: what CloudWatch does not take now is read again later. Each line is sent at least
once: a shipper that is killed sends at most one batch of each log twice.
"""
