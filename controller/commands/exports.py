"""What boto3, Terraform and Ansible read from the process's environment."""

from __future__ import annotations

import os

from controller.config.environment import Environment
from controller.edges.ssh import ensure_key_pair


def export(environment: Environment) -> None:
    """Exports where the cloud is, the public key for the nodes, and Terraform's configuration."""
    aws = environment.settings.aws
    os.environ |= {
        **aws.environment,
        "AWS_REGION": aws.region,
        "AWS_DEFAULT_REGION": aws.region,
        "TF_IN_AUTOMATION": "1",
        "TF_VAR_ssh_public_key": ensure_key_pair(environment.identity_file),
    }
    export_terraform_rc(environment)


def export_terraform_rc(environment: Environment) -> None:
    """Exports Terraform's CLI configuration, where `terraform/init` has made one (for a mirror of providers)."""
    configuration = environment.root / ".centavo" / "terraform.rc"
    if configuration.is_file():
        os.environ["TF_CLI_CONFIG_FILE"] = str(configuration)
