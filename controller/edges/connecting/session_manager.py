"""The way to an instance without a public address: a session of Systems Manager, opened by the AWS CLI."""

from __future__ import annotations

import shutil

from controller.domain.errors import CentavoError

PROGRAMS = {
    "aws": "version 2 of the AWS CLI",
    "session-manager-plugin": "the Session Manager plugin of the AWS CLI",
}
"""What a session needs on the PATH, and what each program is called."""
DOCUMENT = "AWS-StartSSHSession"
"""The document of AWS with which a session carries SSH."""


def session_command(instance_id: str, port: int, region: str) -> list[str]:
    """Returns the command whose input and output are a connection to a port of an instance."""
    return [
        "aws",
        "ssm",
        "start-session",
        "--region",
        region,
        "--target",
        instance_id,
        "--document-name",
        DOCUMENT,
        "--parameters",
        f"portNumber={port}",
    ]


def require_session_programs() -> None:
    """Checks that sessions can be opened from this machine.

    Raises:
        CentavoError: A program is not on the PATH.
    """
    missing = {program: name for program, name in PROGRAMS.items() if shutil.which(program) is None}
    if not missing:
        return
    raise CentavoError(
        "The head has no public address, so it is reached through Systems Manager. "
        f"Not found on the PATH: {', '.join(f'{program} ({name})' for program, name in missing.items())}.",
        'Install what is missing (AWS\'s documentation: "Install the Session Manager plugin for the AWS CLI"), or give '
        "the head a public address: name the range of your own addresses in `head.ssh_from` of variables.tf.",
    )
