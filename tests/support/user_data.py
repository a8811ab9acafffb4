"""The user data of nodes, as Terraform makes it of its templates."""

from __future__ import annotations

import re
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[2] / "terraform" / "templates"
PROGRAM = TEMPLATES / "boot_bundle.py"


def terraform(template: str, **values: str) -> str:
    """Renders a template of Terraform that has values, one list and no other directives."""
    text = (TEMPLATES / template).read_text()
    text = re.sub(r'\$\{join\(" ", \[for .*?\]\)\}', "", text)
    text = re.sub(r"(?<!\$)\$\{(\w+)\}", lambda found: values[found.group(1)], text)
    return text.replace("$${", "${")


def worker_every_boot(bucket: str, cluster: str, *, login_user: str = "", program: str = "") -> str:
    """Returns the script that a worker runs at every boot."""
    prepare = terraform(
        "prepare.sh.tftpl",
        program=program or PROGRAM.read_text(),
        bucket=bucket,
        region="us-east-1",
        cluster=cluster,
    )
    return terraform("every_boot.sh.tftpl", login_user=login_user) + prepare


def user_data(services: str, *, login_user: str = "") -> str:
    """Returns user data whose first script is the shipped one."""
    packages = terraform("boot.sh.tftpl", login_user=login_user, fact_path="~/facts.d", agent_region="")
    return terraform("user_data.tftpl", packages=packages, services=services)
