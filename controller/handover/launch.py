"""How the controller on the head is started: its folder, its environment variables and its options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from controller.config.environment import Environment
from controller.config.overrides import PREFIX, names_of_overrides
from controller.domain.lease import PLACE, Place

OF_THE_MACHINE = ("AWS_ENDPOINT_URL", "AWS_EC2_METADATA_", "AWS_PROFILE", "AWS_ACCESS_", "AWS_SECRET_", "AWS_SESSION_")
"""Variables of `aws.environment` that begin so are a machine's own: the head has its endpoints and its role."""
TERRAFORM_VARIABLES = "TF_VAR_"
NOT_THE_HEADS = ("TF_VAR_ssh_public_key", "TF_VAR_instance_credentials")
"""The controller on the head sets these itself."""
PYTHON = "controller-python/bin/python"
"""Where the head's controller has its Python below `nodes.root`, if it gets its packages from a wheelhouse."""


def variables_on_head(environment: Environment, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables by which the settings of this environment hold on the head.

    There a controller takes the credentials of the instance's role, reaches all nodes by their private addresses, and
    has an SSH key of its own.

    Args:
        environment: The environment on this machine.
        given: The environment variables of this process. Those that set settings or variables of Terraform hold on the
            head, too: Terraform would plan another cluster there.
    """
    aws = {
        name: value
        for name, value in environment.settings.aws.environment.items()
        if not name.startswith(OF_THE_MACHINE)
    }
    return {
        **{name: given[name] for name in names_of_overrides(given)},
        **{name: given[name] for name in sorted(given) if _is_for_terraform(name)},
        f"{PREFIX}AWS__ENVIRONMENT": json.dumps(aws),
        f"{PREFIX}AWS__CREDENTIALS_FILE": "null",
        f"{PREFIX}SSH__JUMP_THROUGH_HEAD": "false",
        f"{PREFIX}SSH__IDENTITY_FILE": json.dumps(identity_on_head(environment)),
        f"{PREFIX}CONTROLLER__DETACH": "false",
        f"{PREFIX}CONTROLLER__INTERVAL_S": json.dumps(environment.settings.controller.interval_s),
        PLACE: Place.HEAD.value,
        "TF_VAR_instance_credentials": "true",  # local's main.tf would not look for those of a role otherwise
        "PYTHONUNBUFFERED": "1",
    }


def identity_on_head(environment: Environment) -> str:
    """Returns where the controller's own private key lies on the head, relative to the folder of the controller."""
    return f".centavo/{environment.name}/controller_key"


def options_on_head(environment: Environment, run: str, policy: str) -> list[str]:
    """Returns the arguments of the program `controller` on the head."""
    return ["--env", environment.name, "optimize", "--run", run, "--policy", policy, "--plain"]


def variables_for_ansible(environment: Environment, run: str, policy: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Returns what the role `controller` has to know."""
    nodes = environment.settings.nodes
    return {
        "python": nodes.python if nodes.wheelhouse is None else f"{nodes.root}/{PYTHON}",
        "name": environment.name,
        "options": options_on_head(environment, run, policy),
        "environment": variables_on_head(environment, given),
        "identity_on_head": identity_on_head(environment),
    }


def _is_for_terraform(name: str) -> bool:
    return name.startswith(TERRAFORM_VARIABLES) and name not in NOT_THE_HEADS
