"""The environment variables of a host's processes."""

from __future__ import annotations

import os

from localcloud.link.configuration import HostsConfiguration
from localcloud.link.spec import HostSpec
from localcloud.support.processes import INSTANCE_MARKER, STATE_MARKER

PATIENCE = {"AWS_METADATA_SERVICE_TIMEOUT": "20", "AWS_METADATA_SERVICE_NUM_ATTEMPTS": "5"}
"""How long botocore waits for credentials: all hosts share this machine, and it may be busy."""


def environment_of(spec: HostSpec, configuration: HostsConfiguration, user: str) -> dict[str, str]:
    """Returns the environment in which a session of `user` starts. It holds nothing of the client's environment.

    As on EC2, it holds no credentials: programs get those of the instance's role from the metadata service.
    """
    settings = configuration.settings
    variables = {
        "HOME": str(configuration.instance_dir(spec.instance_id).home),
        "PATH": os.environ.get("PATH", os.defpath),
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/bash",
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "OMP_NUM_THREADS": "1",
        "AWS_ENDPOINT_URL": settings.endpoint,
        "AWS_REGION": settings.region,
        "AWS_DEFAULT_REGION": settings.region,
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{spec.address}:{settings.metadata_port}",
        **PATIENCE,
        "CENTAVO_BOOT_LOG": str(configuration.instance_dir(spec.instance_id).console),
        INSTANCE_MARKER: spec.instance_id,
        STATE_MARKER: str(configuration.state_dir),
        **settings.brake_of(spec.speed),
    }
    if spec.credits is not None:
        variables["CENTAVO_EMULATED_CREDITS"] = str(configuration.instance_dir(spec.instance_id).credits)
    return variables
