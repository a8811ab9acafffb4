"""What joins the API's process with the hosts' process: values, the form in which they travel, and shared files.

The daemon starts the hosts' process and writes lines of JSON to its standard input: the configuration first, then, at
each change, the complete list of hosts that shall run. The hosts' process writes one line for each change of a host.
"""
