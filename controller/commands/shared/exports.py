"""What boto3, Terraform and Ansible read from the process's environment."""

from __future__ import annotations

import os

from controller.config.environment import Environment
from controller.edges.connecting.ssh import ensure_key_pair

PREFERRED_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")
"""AWS's clients use the credentials in these variables before those in a file."""


def export(environment: Environment) -> None:
    """Exports where the cloud is, the credentials, the public key for the nodes, and Terraform's configuration."""
    aws = environment.settings.aws
    export_credentials(environment)
    os.environ |= {
        **aws.environment,
        "AWS_REGION": aws.region,
        "AWS_DEFAULT_REGION": aws.region,
        "TF_IN_AUTOMATION": "1",
        "TF_VAR_ssh_public_key": ensure_key_pair(environment.identity_file),
    }
    export_terraform_rc(environment)


def export_credentials(environment: Environment) -> None:
    """Exports the file of credentials that the settings name, and takes away what boto3 and Terraform would prefer."""
    file = environment.settings.aws.credentials_file
    if file is not None:
        for name in PREFERRED_CREDENTIALS:
            os.environ.pop(name, None)
        os.environ["AWS_SHARED_CREDENTIALS_FILE"] = str(environment.path(file))


def export_terraform_rc(environment: Environment) -> None:
    """Exports Terraform's CLI configuration, where `terraform/init` has made one (for a mirror of providers)."""
    configuration = environment.root / ".centavo" / "terraform.rc"
    if configuration.is_file():
        os.environ["TF_CLI_CONFIG_FILE"] = str(configuration)
